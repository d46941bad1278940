package telemetry

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// maxNamed is the maximum number of unready Echoes that have their own time series. Further unready Echoes are only counted.
const maxNamed = 20

// Echoes exposes the last status that the operator reported for each Echo, and how long changes take. Only the leader reconciles Echoes, so
// the sum over all replicas of the operator is correct. Echoes is safe for concurrent use.
type Echoes struct {
	now           func() time.Time
	readyDuration prometheus.Histogram
	// These metrics are computed on each scrape.
	echoes, notReady, named, oldest, desired, ready *prometheus.Desc

	lock    sync.Mutex
	last    map[types.NamespacedName]report
	pending map[types.NamespacedName]change
}

// report holds the parts of an Echo's status that the metrics use.
type report struct {
	echo  types.NamespacedName
	phase string
	// reason says why the Echo is not ready; it is empty if the Echo is ready.
	reason         string
	notReadySince  time.Time
	desired, ready int32
}

// change is the last change to the spec of an Echo that has not been ready since.
type change struct {
	generation int64
	at         time.Time
}

func newEchoes(now func() time.Time) *Echoes {
	return &Echoes{
		now: now, last: map[types.NamespacedName]report{}, pending: map[types.NamespacedName]change{},
		readyDuration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    prefix + "ready_duration_seconds",
			Help:    "Time from a change to an Echo's spec, or its creation, until the Echo is ready.",
			Buckets: []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800},
			// If a Prometheus server requests a native histogram, the bucket boundaries are 10% apart.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}),
		echoes:   describe("echoes", "Number of Echoes by phase.", "phase"),
		notReady: describe("echoes_not_ready", "Number of Echoes that are not ready, by the reason of the Ready condition.", "reason"),
		named: describe("echo_not_ready_since_timestamp_seconds",
			"Unix time at which an Echo stopped being ready, for the 20 Echoes with the earliest times.", "echo_namespace", "echo", "reason"),
		oldest:  describe("oldest_echo_not_ready_seconds", "Longest time, in seconds, that any Echo has been unready; 0 if all are ready."),
		desired: describe("replicas_desired", "Number of desired echo servers of all Echoes."),
		ready:   describe("replicas_ready", "Number of ready echo servers of all Echoes."),
	}
}

// Changed records that an Echo was created, or that its spec was changed.
func (e *Echoes) Changed(echo client.Object) {
	e.lock.Lock()
	defer e.lock.Unlock()
	e.pending[client.ObjectKeyFromObject(echo)] = change{echo.GetGeneration(), e.now()}
}

// Reported records an Echo's status after it was written or found to be unchanged.
func (e *Echoes) Reported(echo *v1.Echo, status *v1.EchoStatus) {
	key := client.ObjectKeyFromObject(echo)
	phase := cmp.Or(status.Phase, v1.PhasePending) // a first status is about to be written
	seen := report{echo: key, phase: phase, desired: echo.Spec.DesiredReplicas(), ready: status.ReadyReplicas}
	ready := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
	switch {
	case ready == nil:
		seen.reason, seen.notReadySince = "Unknown", echo.CreationTimestamp.Time
	case ready.Status != metav1.ConditionTrue:
		seen.reason, seen.notReadySince = ready.Reason, ready.LastTransitionTime.Time
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	e.last[key] = seen
	if waits, found := e.pending[key]; found && seen.reason == "" && status.ObservedGeneration >= waits.generation {
		delete(e.pending, key)
		e.readyDuration.Observe(e.now().Sub(waits.at).Seconds())
	}
}

// Forget drops the records of an Echo that no longer exists.
func (e *Echoes) Forget(echo types.NamespacedName) {
	e.lock.Lock()
	defer e.lock.Unlock()
	delete(e.last, echo)
	delete(e.pending, echo)
}

// Describe implements prometheus.Collector.
func (e *Echoes) Describe(to chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{e.echoes, e.notReady, e.named, e.oldest, e.desired, e.ready} {
		to <- description
	}
	e.readyDuration.Describe(to)
}

// Collect implements prometheus.Collector.
func (e *Echoes) Collect(to chan<- prometheus.Metric) {
	byPhase, byReason := map[string]float64{}, map[string]float64{}
	for _, phase := range []string{v1.PhasePending, v1.PhaseUpdating, v1.PhaseReady, v1.PhaseWarning, v1.PhaseFailed, v1.PhaseTerminating} {
		byPhase[phase] = 0 // instead of being omitted
	}
	var desired, ready float64
	var notReady []report
	e.lock.Lock()
	now := e.now()
	for _, r := range e.last {
		byPhase[r.phase]++
		desired += float64(r.desired)
		ready += float64(r.ready)
		if r.reason != "" {
			byReason[r.reason]++
			notReady = append(notReady, r)
		}
	}
	e.lock.Unlock()
	slices.SortFunc(notReady, func(a, b report) int {
		return cmp.Or(a.notReadySince.Compare(b.notReadySince), cmp.Compare(a.echo.Namespace, b.echo.Namespace),
			cmp.Compare(a.echo.Name, b.echo.Name))
	})
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for phase, count := range byPhase {
		gauge(e.echoes, count, phase)
	}
	for reason, count := range byReason {
		gauge(e.notReady, count, reason)
	}
	oldest := 0.0
	for i, r := range notReady[:min(len(notReady), maxNamed)] {
		since := r.notReadySince
		if i == 0 {
			oldest = now.Sub(since).Seconds()
		}
		gauge(e.named, float64(since.Unix()), r.echo.Namespace, r.echo.Name, r.reason)
	}
	gauge(e.oldest, max(0, oldest))
	gauge(e.desired, desired)
	gauge(e.ready, ready)
	e.readyDuration.Collect(to)
}
