package statusapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/internal/history"
)

// diagnosis is the state of this process. Replicas other than the leader omit the fields for which only the leader has data.
type diagnosis struct {
	Version    string          `json:"version"`
	Replica    string          `json:"replica"`
	Leader     string          `json:"leader"`
	Leads      bool            `json:"leads"`
	Namespaces []string        `json:"namespaces"` // empty for all
	Queues     map[string]int  `json:"queues,omitempty"`
	Echoes     []reconcileView `json:"echoes,omitempty"`
}

// reconcileView describes the most recent reconcile of an Echo.
type reconcileView struct {
	Namespace           string    `json:"namespace"`
	Name                string    `json:"name"`
	LastReconcile       time.Time `json:"lastReconcile"`
	LastReconcileMillis float64   `json:"lastReconcileMilliseconds"`
	Error               string    `json:"error,omitempty"`
}

func (s *Server) diagnose(out http.ResponseWriter, r *http.Request) {
	d := diagnosis{Version: s.Version, Replica: s.Replica, Leads: s.leads(), Namespaces: append([]string{}, s.Namespaces...)}
	var err error
	if d.Leader, err = s.leader(r.Context()); err == nil && d.Leads {
		d.Echoes = reconcileViews(s.History.Reconciles())
		d.Queues, err = queueDepths(s.Metrics)
	}
	if err != nil {
		writeError(out, http.StatusInternalServerError, err.Error())
		return
	}
	writeJSON(out, http.StatusOK, d)
}

// reconcileViews returns the most recent reconcile of each Echo, sorted by namespace and name.
func reconcileViews(reconciles map[types.NamespacedName]history.Reconcile) []reconcileView {
	var views []reconcileView
	for echo, last := range reconciles {
		views = append(views, reconcileView{Namespace: echo.Namespace, Name: echo.Name, LastReconcile: last.Ended.UTC(),
			LastReconcileMillis: float64(last.Duration.Microseconds()) / 1000, Error: last.Error})
	}
	slices.SortFunc(views, func(a, b reconcileView) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return views
}

// queueDepths returns the number of objects in each controller's work queue. The queue metric has a separate value for each priority.
func queueDepths(metrics prometheus.Gatherer) (map[string]int, error) {
	families, err := metrics.Gather()
	if err != nil {
		return nil, fmt.Errorf("reading the depth of the work queues: %w", err)
	}
	depths := map[string]int{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch name := controllerOf(metric); family.GetName() {
			case "controller_runtime_max_concurrent_reconciles": // this metric lists all controllers; an unused queue has no depth metric
				depths[name] += 0
			case "workqueue_depth":
				depths[name] += int(metric.GetGauge().GetValue())
			}
		}
	}
	return depths, nil
}

func controllerOf(metric *dto.Metric) string {
	for _, label := range metric.GetLabel() {
		if label.GetName() == "controller" {
			return label.GetValue()
		}
	}
	return ""
}
