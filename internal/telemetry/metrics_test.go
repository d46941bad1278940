package telemetry

import (
	"testing"

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
	m.Checks.Reported(types.NamespacedName{Namespace: "ns", Name: "a"}, []v1.EchoCheckStatus{{Name: "path", Result: v1.CheckFailed}})
	m.Failures.Add("echo", true, "ApplyFailed")
	m.Requests.counter.WithLabelValues("get", "echoes", "200")
	problems, err := testutil.GatherAndLint(registry)
	g.Expect(err).NotTo(HaveOccurred())
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	const all = 15
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
	f := newFailures()
	f.Add("echo", true, "ApplyFailed")
	f.Add("echo", true, "ApplyFailed")
	f.Add("companion", false, "InvalidSpec")
	wantMetrics(t, f.counter, "reconcile_errors_total", `
		echo_operator_reconcile_errors_total{controller="companion",kind="user",reason="InvalidSpec"} 1
		echo_operator_reconcile_errors_total{controller="echo",kind="transient",reason="ApplyFailed"} 2
	`)
}

func TestCompanions(t *testing.T) {
	c := newCompanions()
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
