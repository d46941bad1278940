package telemetry

import (
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

type alert struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alertsOf(t *testing.T) (all []alert) {
	t.Helper()
	g := NewWithT(t)
	objects, err := Objects("operators")
	g.Expect(err).NotTo(HaveOccurred())
	text, err := json.Marshal(objects[1].Object)
	g.Expect(err).NotTo(HaveOccurred())
	var rule struct {
		Spec struct{ Groups []struct{ Rules []alert } }
	}
	g.Expect(json.Unmarshal(text, &rule)).To(Succeed())
	for _, group := range rule.Spec.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// TestObjects_everyAlertHasRunbook checks that each alert has the fields that a person on call needs, and a runbook with commands.
func TestObjects_everyAlertHasRunbook(t *testing.T) {
	g := NewWithT(t)
	runbooksThere, err := os.ReadDir("../../docs/runbooks")
	g.Expect(err).NotTo(HaveOccurred())
	alerts := alertsOf(t)
	g.Expect(alerts).To(And(HaveLen(len(runbooksThere)), Not(BeEmpty())), "each alert has one runbook")
	for _, alert := range alerts {
		name := alert.Alert
		for _, field := range []string{"summary", "description", "runbook_url"} {
			g.Expect(alert.Annotations[field]).NotTo(BeEmpty(), "%s has no %s", name, field)
		}
		g.Expect(alert.Labels["severity"]).To(Or(Equal("critical"), Equal("warning")), name)
		g.Expect(alert.For).NotTo(BeEmpty(), name)
		text, err := os.ReadFile(path.Join("../../docs/runbooks", path.Base(alert.Annotations["runbook_url"])))
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(string(text)).To(HavePrefix("# "+name+"\n\n```sh\n"), "the runbook of %s does not begin with its name and commands", name)
	}
}

// TestObjects_everyAlertHasTestCases checks that each alert has a case in which it fires, and is in the cases in which none fires.
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
		if name := alert.Alert; !fires[name] || !silent[name] {
			t.Errorf("%s: a case in which it fires exists: %t; the test %q covers it: %t", name, fires[name], suite.Tests[0].Name, silent[name])
		}
	}
}

func TestObjects_downAlertOnlyForOwnOperator(t *testing.T) {
	NewWithT(t).Expect(alertsOf(t)).To(ContainElement(And(HaveField("Alert", "EchoOperatorDown"),
		HaveField("Expr", `absent(up{job="echo-operator", namespace="operators"} == 1)`),
		HaveField("Labels", map[string]string{"severity": "critical", "namespace": "operators"}))))
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
