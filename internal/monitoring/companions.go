package monitoring

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Companions counts the pods that request a companion but do not have one. It is safe for concurrent use.
type Companions struct {
	described *prometheus.Desc

	lock    sync.Mutex
	reasons map[types.NamespacedName]string
}

func newCompanions() *Companions {
	return &Companions{
		described: prometheus.NewDesc(prefix+"companions_missing", "Number of pods that request a companion and have none, by reason.",
			[]string{"reason"}, nil),
		reasons: map[types.NamespacedName]string{},
	}
}

// Reported records why a pod has no companion. The reason is empty if nothing is wrong.
func (c *Companions) Reported(pod types.NamespacedName, reason string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if reason == "" {
		delete(c.reasons, pod)
		return
	}
	c.reasons[pod] = reason
}

// Describe implements prometheus.Collector.
func (c *Companions) Describe(to chan<- *prometheus.Desc) { to <- c.described }

// Collect implements prometheus.Collector.
func (c *Companions) Collect(to chan<- prometheus.Metric) {
	c.lock.Lock()
	defer c.lock.Unlock()
	counts := map[string]float64{"EchoNotFound": 0, "CompanionNotCreated": 0}
	for _, reason := range c.reasons {
		counts[reason]++
	}
	for reason, count := range counts {
		to <- prometheus.MustNewConstMetric(c.described, prometheus.GaugeValue, count, reason)
	}
}
