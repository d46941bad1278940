package statusapi

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/internal/history"
)

func TestQueueDepths(t *testing.T) {
	registry := prometheus.NewRegistry()
	depth := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_depth"}, []string{"name", "controller", "priority"})
	workers := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "controller_runtime_max_concurrent_reconciles"}, []string{"controller"})
	registry.MustRegister(depth, workers, prometheus.NewGauge(prometheus.GaugeOpts{Name: "other"}))
	workers.WithLabelValues("echo").Set(16)
	workers.WithLabelValues("companion").Set(16)
	depth.WithLabelValues("echo", "echo", "0").Set(2)
	depth.WithLabelValues("echo", "echo", "-100").Set(3)
	got, err := queueDepths(registry)
	if diff := cmp.Diff(map[string]int{"echo": 5, "companion": 0}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestReconcileViews(t *testing.T) {
	when := time.Unix(1000, 0).UTC()
	got := reconcileViews(map[types.NamespacedName]history.Reconcile{
		{Namespace: "b", Name: "x"}: {Ended: when, Duration: 1500 * time.Microsecond},
		{Namespace: "a", Name: "y"}: {Ended: when, Error: "no"},
		{Namespace: "a", Name: "x"}: {Ended: when},
	})
	want := []reconcileView{
		{Namespace: "a", Name: "x", LastReconcile: when},
		{Namespace: "a", Name: "y", LastReconcile: when, Error: "no"},
		{Namespace: "b", Name: "x", LastReconcile: when, LastReconcileMillis: 1.5},
	}
	NewWithT(t).Expect(got).To(BeComparableTo(want))
}
