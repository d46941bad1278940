// Package prometheus evaluates the alerts as Prometheus does, using the Prometheus version that is pinned here.
//
// Prometheus' own packages evaluate queries and templates, and read the rule files. The package rules is not used, because it brings in the
// SDKs of three clouds.
package prometheus

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v3"
)

const alertTests = "../../internal/telemetry/testdata/alerts_test.yaml"

// alertTest is an item of `tests` in the format of `promtool test rules`.
type alertTest struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Series   []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Cases []struct {
		Alert    string         `yaml:"alertname"`
		At       model.Duration `yaml:"eval_time"`
		Expected []firing       `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

// firing is a firing alert, without its name.
type firing struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

// TestAlerts checks when the alerts fire, and their texts.
func TestAlerts(t *testing.T) {
	text, err := os.ReadFile(alertTests)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Rules    []string       `yaml:"rule_files"`
		Interval model.Duration `yaml:"evaluation_interval"`
		Tests    []alertTest    `yaml:"tests"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil {
		t.Fatal(err)
	}
	for _, test := range file.Tests {
		t.Run(test.Name, func(t *testing.T) {
			series := load(t, test)
			var alerts []*alert
			for _, name := range file.Rules {
				alerts = append(alerts, parse(t, filepath.Join(filepath.Dir(alertTests), name), series)...)
			}
			test.run(t, alerts, time.Duration(file.Interval))
		})
	}
}

// run evaluates the alerts in each interval up to the last case.
func (test alertTest) run(t *testing.T, alerts []*alert, interval time.Duration) {
	begin, met := time.Unix(0, 0).UTC(), 0
	for at := time.Duration(0); met < len(test.Cases); at += interval {
		for _, a := range alerts {
			a.evaluate(t, begin.Add(at))
		}
		for _, c := range test.Cases {
			if time.Duration(c.At) < at || time.Duration(c.At) >= at+interval {
				continue
			}
			met++
			var got []firing
			for _, a := range alerts {
				if a.rule.Alert == c.Alert {
					got = append(got, a.firing(begin.Add(at))...)
				}
			}
			if diff := cmp.Diff(c.Expected, got); diff != "" {
				t.Errorf("%s at %s (-expected +got):\n%s", c.Alert, c.At, diff)
			}
		}
	}
}

// alert is a rule with the results of its expression.
type alert struct {
	rule   rulefmt.Rule
	query  template.QueryFunc
	active map[string]active // by their labels
}

type active struct {
	firing
	since time.Time
}

// parse reads the alerts in a rule file.
func parse(t *testing.T, file string, series *series) []*alert {
	t.Helper()
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 100_000, Timeout: time.Minute})
	query := func(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
		q, err := engine.NewInstantQuery(ctx, series, nil, text, at)
		if err != nil {
			return nil, err
		}
		return q.Exec(ctx).Vector()
	}
	var all []*alert
	for _, group := range groups.Groups {
		if group.Limit != 0 || group.QueryOffset != nil || len(group.Labels) > 0 {
			t.Fatalf("group %s has a setting that is not evaluated here", group.Name)
		}
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.KeepFiringFor != 0 {
				t.Fatalf("rule %+v is not evaluated here", rule)
			}
			all = append(all, &alert{rule: rule, query: query, active: map[string]active{}})
		}
	}
	return all
}

// evaluate records what the expression returns at a time.
func (a *alert) evaluate(t *testing.T, at time.Time) {
	t.Helper()
	vector, err := a.query(t.Context(), a.rule.Expr, at)
	if err != nil {
		t.Fatalf("%s: %v", a.rule.Alert, err)
	}
	before := a.active
	a.active = map[string]active{}
	for _, sample := range vector {
		now := active{since: at, firing: firing{
			Labels:      labels.NewBuilder(sample.Metric).Del(model.MetricNameLabel).Labels().Map(),
			Annotations: a.expand(t, a.rule.Annotations, sample, at),
		}}
		maps.Copy(now.Labels, a.expand(t, a.rule.Labels, sample, at))
		key := labels.FromMap(now.Labels).String()
		if _, twice := a.active[key]; twice {
			t.Fatalf("%s returns %s twice", a.rule.Alert, key)
		}
		if old, found := before[key]; found {
			now.since = old.since
		}
		a.active[key] = now
	}
}

// firing returns the firing alerts, ordered by label.
func (a *alert) firing(at time.Time) []firing {
	var all []firing
	for _, key := range slices.Sorted(maps.Keys(a.active)) {
		if now := a.active[key]; at.Sub(now.since) >= time.Duration(a.rule.For) {
			all = append(all, now.firing)
		}
	}
	return all
}

// expand expands the templates in labels or annotations.
func (a *alert) expand(t *testing.T, texts map[string]string, sample promql.Sample, at time.Time) map[string]string {
	t.Helper()
	data := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
	all := map[string]string{}
	for name, text := range texts {
		text = "{{$labels := .Labels}}{{$value := .Value}}" + text
		now := model.TimeFromUnixNano(at.UnixNano())
		got, err := template.NewTemplateExpander(t.Context(), text, a.rule.Alert, data, now, a.query, nil, nil).Expand()
		if err != nil {
			t.Fatalf("%s, %s: %v", a.rule.Alert, name, err)
		}
		all[name] = got
	}
	return all
}
