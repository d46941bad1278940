package telemetry

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// clock is a clock that a test sets.
type clock struct{ time time.Time }

func (c *clock) now() time.Time { return c.time }

func newClock() *clock { return &clock{time.Unix(10_000, 0)} }

func newEcho(name string, generation int64) *v1.Echo {
	return &v1.Echo{Namespace: "shop", Name: name, Generation: generation, Spec: v1.EchoSpec{Replicas: new(int32(3))}}
}

// newStatus returns a status for a generation. If a reason is given, the Echo has not been ready since the given Unix time, in seconds.
func newStatus(generation int64, phase, reason string, since int64) *v1.EchoStatus {
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: "AllPodsReady"}
	if reason != "" {
		ready = metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason,
			LastTransitionTime: metav1.Unix(since, 0)}
	}
	return &v1.EchoStatus{ObservedGeneration: generation, Phase: phase, ReadyReplicas: 2, Conditions: []metav1.Condition{ready}}
}

// wantMetrics compares the named metrics of a collector with their expected values. TestRegister_metricsFollowConventions checks their help.
func wantMetrics(t *testing.T, c prometheus.Collector, names, want string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	g, got := NewWithT(t), &strings.Builder{}
	g.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if slices.Contains(strings.Fields(names), strings.TrimPrefix(family.GetName(), prefix)) {
			_, err := expfmt.MetricFamilyToText(got, family)
			g.Expect(err).NotTo(HaveOccurred())
		}
	}
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(got.String(), "")
	g.Expect(strings.Fields(text)).To(Equal(strings.Fields(want)))
}

func TestEchoes_countsByPhaseAndReason(t *testing.T) {
	e := newEchoes(newClock().now)
	e.Reported(newEcho("a", 1), newStatus(1, v1.PhaseReady, "", 0))
	e.Reported(newEcho("b", 1), newStatus(1, v1.PhaseFailed, "NameConflict", 9_000))
	e.Reported(newEcho("c", 1), newStatus(1, v1.PhaseWarning, "ImagePullFailed", 9_900))
	e.Reported(newEcho("d", 1), &v1.EchoStatus{})
	e.Reported(newEcho("gone", 1), newStatus(1, v1.PhaseFailed, "NameConflict", 1))
	e.Forget(client.ObjectKeyFromObject(newEcho("gone", 1)))
	wantMetrics(t, e, "echoes echoes_not_ready replicas_desired replicas_ready", `
		echo_operator_echoes{phase="Failed"} 1
		echo_operator_echoes{phase="Pending"} 1
		echo_operator_echoes{phase="Ready"} 1
		echo_operator_echoes{phase="Terminating"} 0
		echo_operator_echoes{phase="Updating"} 0
		echo_operator_echoes{phase="Warning"} 1
		echo_operator_echoes_not_ready{reason="ImagePullFailed"} 1
		echo_operator_echoes_not_ready{reason="NameConflict"} 1
		echo_operator_echoes_not_ready{reason="Unknown"} 1
		echo_operator_replicas_desired 12
		echo_operator_replicas_ready 6
	`)
}

func TestEchoes_namesLongestUnready(t *testing.T) {
	e := newEchoes(newClock().now)
	for i := range 2 * maxNamed {
		e.Reported(newEcho(fmt.Sprintf("echo-%d", i), 1), newStatus(1, v1.PhaseWarning, "Unschedulable", 9_000-int64(i)))
	}
	NewWithT(t).Expect(testutil.CollectAndCount(e, prefix+"echo_not_ready_since_timestamp_seconds")).To(Equal(maxNamed))
	wantMetrics(t, e, "oldest_echo_not_ready_seconds", `
		echo_operator_oldest_echo_not_ready_seconds 1039
	`)
	for i := range 2*maxNamed - 1 {
		e.Reported(newEcho(fmt.Sprintf("echo-%d", i+1), 1), newStatus(1, v1.PhaseReady, "", 0))
	}
	wantMetrics(t, e, "echo_not_ready_since_timestamp_seconds", `
		echo_operator_echo_not_ready_since_timestamp_seconds{echo="echo-0",echo_namespace="shop",reason="Unschedulable"} 9000
	`)
}

func TestEchoes_measuresTimeUntilReady(t *testing.T) {
	c := newClock()
	e := newEchoes(c.now)
	e.Changed(newEcho("a", 1))
	c.time = c.time.Add(time.Second)
	e.Reported(newEcho("a", 1), newStatus(1, v1.PhasePending, "RollingOut", 10_000))
	e.Changed(newEcho("a", 2)) // only the last change counts
	c.time = c.time.Add(time.Second)
	e.Reported(newEcho("a", 2), newStatus(1, v1.PhaseReady, "", 0)) // this status is from before the last change
	c.time = c.time.Add(2 * time.Second)
	e.Reported(newEcho("a", 2), newStatus(2, v1.PhaseReady, "", 0))
	e.Reported(newEcho("a", 2), newStatus(2, v1.PhaseReady, "", 0)) // nothing has changed since the previous report
	e.Reported(newEcho("b", 1), newStatus(1, v1.PhaseReady, "", 0)) // this Echo existed when the operator started
	metrics := make(chan prometheus.Metric, 100)
	e.readyDuration.Collect(metrics)
	if sum, count := sumOf(t, <-metrics); sum != 3 || count != 1 {
		t.Errorf("%d changes took %v s, want one of 3 s", count, sum)
	}
}
