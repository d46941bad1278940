package telemetry

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func sumOf(t *testing.T, histogram prometheus.Metric) (sum float64, count uint64) {
	t.Helper()
	written := &dto.Metric{}
	NewWithT(t).Expect(histogram.Write(written)).To(Succeed())
	return written.GetHistogram().GetSampleSum(), written.GetHistogram().GetSampleCount()
}

// TestRegister_metricsFollowConventions checks the metrics against promtool's rules: https://prometheus.io/docs/practices/naming.
func TestRegister_metricsFollowConventions(t *testing.T) {
	g := NewWithT(t)
	registry, elected := prometheus.NewPedanticRegistry(), make(chan struct{})
	m := NewMetrics(newClock().now)
	g.Expect(m.Register(registry, "v1.2.3", elected)).To(Succeed())
	m.Echoes.Reported(newEcho("a", 1), newStatus(1, v1.PhaseWarning, "Unschedulable", 1))
	m.Checks.Reported(types.NamespacedName{Namespace: "ns", Name: "a"}, []v1.EchoCheckStatus{{Name: "path", Result: v1.CheckFailed}},
		map[string]time.Time{"path": time.Unix(1, 0)})
	m.Failures.Add("echo", true, "ApplyFailed")
	m.requests.WithLabelValues("get", "echoes", "200")
	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	const all = 16
	if families, err := registry.Gather(); err != nil || len(families) != all {
		t.Errorf("%d metrics, %v; want %d", len(families), err, all)
	}
}

func TestLeader(t *testing.T) {
	g := NewWithT(t)
	elected := make(chan struct{})
	gauge := leader(elected)
	g.Expect(testutil.ToFloat64(gauge)).To(BeZero())
	close(elected)
	g.Expect(testutil.ToFloat64(gauge)).To(Equal(1.0))
}

func TestFailures(t *testing.T) {
	f := NewMetrics(time.Now).Failures
	f.Add("echo", true, "ApplyFailed")
	f.Add("echo", true, "ApplyFailed")
	f.Add("companion", false, "InvalidSpec")
	wantMetrics(t, f.counter, "reconcile_errors_total", `
		echo_operator_reconcile_errors_total{controller="companion",kind="user",reason="InvalidSpec"} 1
		echo_operator_reconcile_errors_total{controller="echo",kind="transient",reason="ApplyFailed"} 2
	`)
}

func TestCompanions(t *testing.T) {
	c := NewMetrics(time.Now).Companions
	pod := types.NamespacedName{Namespace: "shop", Name: "till"}
	c.Reported(pod, 0, v1.EventEchoNotFound.String())
	c.Reported(pod, 0, v1.EventCompanionNotCreated.String())
	c.Reported(types.NamespacedName{Namespace: "shop", Name: "other"}, 1, "")
	c.Reported(types.NamespacedName{Namespace: "shop", Name: "replaced"}, 2, "") // the former pod of this name had one, too
	wantMetrics(t, c, "companions companions_missing", `
		echo_operator_companions 3
		echo_operator_companions_missing{reason="CompanionNotCreated"} 1
		echo_operator_companions_missing{reason="EchoNotFound"} 0
	`)
	for _, name := range []string{"till", "other", "replaced"} {
		c.Reported(types.NamespacedName{Namespace: "shop", Name: name}, 0, "")
	}
	NewWithT(t).Expect(c.reasons).To(BeEmpty())
	NewWithT(t).Expect(c.counts).To(BeEmpty())
}

func TestChecks(t *testing.T) {
	at := newClock()
	c := NewMetrics(at.now).Checks
	echo := types.NamespacedName{Namespace: "shop", Name: "web"}
	checks := []v1.EchoCheckStatus{{Name: "a", Result: v1.CheckFailed}, {Name: "b", Result: v1.CheckUnknown}, {Name: "c", Result: v1.CheckPassed}}
	c.Reported(echo, checks,
		map[string]time.Time{"a": at.time.Add(time.Hour), "b": at.time, "c": at.time.Add(-time.Second)})
	wantMetrics(t, c, "checks check_failed check_unknown", `
		echo_operator_check_failed{check="a",echo="web",echo_namespace="shop"} 1
		echo_operator_check_unknown{check="b",echo="web",echo_namespace="shop"} 1
		echo_operator_check_unknown{check="c",echo="web",echo_namespace="shop"} 1
		echo_operator_checks{result="Failed"} 1
		echo_operator_checks{result="Passed"} 1
		echo_operator_checks{result="Unknown"} 1
	`)
	at.time = at.time.Add(2 * time.Hour)
	c.Reported(types.NamespacedName{Namespace: "shop", Name: "idle"}, []v1.EchoCheckStatus{{Name: "a", Result: v1.CheckUnknown}}, nil)
	wantMetrics(t, c, "check_unknown", `
		echo_operator_check_unknown{check="a",echo="web",echo_namespace="shop"} 1
		echo_operator_check_unknown{check="b",echo="web",echo_namespace="shop"} 1
		echo_operator_check_unknown{check="c",echo="web",echo_namespace="shop"} 1
	`)
	for _, name := range []string{"web", "idle"} {
		c.Reported(types.NamespacedName{Namespace: "shop", Name: name}, nil, nil)
	}
	NewWithT(t).Expect(c.results).To(BeEmpty())
	NewWithT(t).Expect(c.overdue).To(BeEmpty())
}
