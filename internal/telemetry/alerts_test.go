package telemetry

import (
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func alertsOf(t *testing.T) []map[string]any {
	t.Helper()
	g := NewWithT(t)
	objects, err := Objects("operators")
	g.Expect(err).NotTo(HaveOccurred())
	groups, _, err := unstructured.NestedSlice(objects[1].Object, "spec", "groups")
	g.Expect(err).NotTo(HaveOccurred())
	var all []map[string]any
	for _, group := range groups {
		for _, rule := range group.(map[string]any)["rules"].([]any) {
			all = append(all, rule.(map[string]any))
		}
	}
	return all
}

// TestObjects_everyAlertHasRunbook checks that each alert has the fields that a person on call needs, and a runbook that begins with
// commands.
func TestObjects_everyAlertHasRunbook(t *testing.T) {
	g := NewWithT(t)
	runbooksThere, err := os.ReadDir("../../docs/runbooks")
	g.Expect(err).NotTo(HaveOccurred())
	alerts := alertsOf(t)
	if len(alerts) != len(runbooksThere) || len(alerts) == 0 {
		t.Errorf("there are %d alerts and %d runbooks", len(alerts), len(runbooksThere))
	}
	for _, alert := range alerts {
		name := alert["alert"].(string)
		for _, field := range []string{"summary", "description", "runbook_url"} {
			if text, _, _ := unstructured.NestedString(alert, "annotations", field); text == "" {
				t.Errorf("%s has no %s", name, field)
			}
		}
		if severity, _, _ := unstructured.NestedString(alert, "labels", "severity"); severity != "critical" && severity != "warning" {
			t.Errorf("%s has the severity %q", name, severity)
		}
		if alert["for"] == nil {
			t.Errorf("%s does not say for how long", name)
		}
		url, _, _ := unstructured.NestedString(alert, "annotations", "runbook_url")
		text, err := os.ReadFile(path.Join("../../docs/runbooks", path.Base(url)))
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(string(text)).To(HavePrefix("# "+name+"\n\n```sh\n"), "the runbook of %s does not begin with its name and commands", name)
	}
}

// TestObjects_everyAlertHasTestCases checks that each alert has a case in which it fires, and is included in the cases in which no alert
// fires.
func TestObjects_everyAlertHasTestCases(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile("testdata/alerts_test.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var suite struct {
		Tests []struct {
			Name  string
			Cases []struct {
				Alert    string `json:"alertname"`
				Expected []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	g.Expect(yaml.Unmarshal(text, &suite)).To(Succeed())
	fires, silent := map[string]bool{}, map[string]bool{}
	for i, test := range suite.Tests {
		for _, c := range test.Cases {
			fires[c.Alert] = fires[c.Alert] || len(c.Expected) > 0
			silent[c.Alert] = silent[c.Alert] || i == 0 && len(c.Expected) == 0
		}
	}
	for _, alert := range alertsOf(t) {
		if name := alert["alert"].(string); !fires[name] || !silent[name] {
			t.Errorf("%s: a case in which it fires exists: %t; the test %q covers it: %t", name, fires[name], suite.Tests[0].Name, silent[name])
		}
	}
}

func TestObjects_downAlertOnlyForOwnOperator(t *testing.T) {
	i := slices.IndexFunc(alertsOf(t), func(alert map[string]any) bool { return alert["alert"] == "EchoOperatorDown" })
	down := alertsOf(t)[i]
	NewWithT(t).Expect(down).To(And(HaveKeyWithValue("expr", `absent(up{job="echo-operator", namespace="operators"} == 1)`),
		HaveKeyWithValue("labels", map[string]any{"severity": "critical", "namespace": "operators"})))
}

func TestObjects_inOperatorNamespace(t *testing.T) {
	g := NewWithT(t)
	objects, err := Objects("operators")
	g.Expect(err).NotTo(HaveOccurred())
	var kinds []string
	for _, o := range objects {
		kinds = append(kinds, o.GetKind())
		if o.GetNamespace() != "operators" || o.GetName() != "echo-operator" || o.GetAPIVersion() != "monitoring.coreos.com/v1" {
			t.Errorf("%s %s/%s of %s", o.GetKind(), o.GetNamespace(), o.GetName(), o.GetAPIVersion())
		}
	}
	g.Expect(strings.Join(kinds, " ")).To(Equal("ServiceMonitor PrometheusRule"))
}
