package main

import (
	"reflect"
	"testing"
)

func TestWithPanels(t *testing.T) {
	const file = "before\n" + panelsBegin + "old\n" + panelsEnd + "\nafter"
	got, err := withPanels(file, `{"panels": [{"type": "row", "title": "Health"},
		{"type": "stat", "title": "Operator", "description": "Is it up?", "targets": [{"expr": "up"}]}]}`)
	want := "before\n" + panelsBegin + "| panel | question | metrics |\n|---|---|---|\n| **Health** | | |\n| Operator | Is it up? | `up` |\n" +
		panelsEnd + "\nafter"
	if err != nil || got != want {
		t.Errorf("%v:\n%s", err, got)
	}
	for _, dashboard := range []string{`{"panels": [{"type": "stat", "title": "Operator"}]}`, "no JSON"} {
		if _, err := withPanels(file, dashboard); err == nil {
			t.Errorf("no error for %s", dashboard)
		}
	}
	if _, err := withPanels("no place", "{}"); err == nil {
		t.Error("no error without a place")
	}
}

func TestMetricsOf(t *testing.T) {
	for expression, want := range map[string][]string{
		`sum by (job) (rate(a_total{code=~"5.*"}[5m])) / sum by (job) (rate(a_total[5m])) * 60`: {"`a_total`"},
		`sum(up{job="x"}) or vector(0)`:                                                             {"`up`"},
		`min by (job) (b_seconds - time()) / 86400`:                                                 {"`b_seconds`"},
		`histogram_quantile(0.5, sum by (le) (rate(c_bucket{job="x"}[5m]))) + sum(up) - max(c_sum)`: {"`c_bucket`", "`up`", "`c_sum`"},
	} {
		if got := metricsOf(panel{Targets: []struct{ Expr string }{{Expr: expression}}}); !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads %v", expression, got)
		}
	}
}
