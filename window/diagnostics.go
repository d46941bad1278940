package window

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/echo-operator/echo-operator/controllers"
)

// diagnosis is how this process is. What only the leader knows is left out by the others.
type diagnosis struct {
	Version    string         `json:"version"`
	Replica    string         `json:"replica"`
	Leader     string         `json:"leader"`
	Leads      bool           `json:"leads"`
	Namespaces []string       `json:"namespaces"` // empty: all
	LogLevel   levelView      `json:"logLevel"`
	Queues     map[string]int `json:"queues,omitempty"`
	Echoes     []passView     `json:"echoes,omitempty"`
}

// passView is how the last pass over an Echo went.
type passView struct {
	Namespace           string    `json:"namespace"`
	Name                string    `json:"name"`
	LastReconcile       time.Time `json:"lastReconcile"`
	LastReconcileMillis float64   `json:"lastReconcileMilliseconds"`
	Error               string    `json:"error,omitempty"`
}

// diagnose answers with how this process is.
func (w *Window) diagnose(out http.ResponseWriter, r *http.Request) {
	d := diagnosis{
		Version: w.Version, Replica: w.Replica, Leads: w.leads(),
		Namespaces: append([]string{}, w.Namespaces...), LogLevel: w.LogLevel.view(),
	}
	var err error
	if d.Leader, err = w.leader(r.Context()); err == nil && d.Leads {
		d.Echoes = passViews(w.Journal.Passes())
		d.Queues, err = queueDepths(w.Metrics)
	}
	if err != nil {
		refuse(out, http.StatusInternalServerError, err.Error())
		return
	}
	reply(out, http.StatusOK, d)
}

// passViews are the last passes over Echoes, in the order of their names.
func passViews(passes map[types.NamespacedName]controllers.Pass) []passView {
	var views []passView
	for echo, pass := range passes {
		views = append(views, passView{Namespace: echo.Namespace, Name: echo.Name, LastReconcile: pass.Ended.UTC(),
			LastReconcileMillis: float64(pass.Took.Microseconds()) / 1000, Error: pass.Error})
	}
	slices.SortFunc(views, func(a, b passView) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return views
}

// queueDepths are how many objects wait in the queue of each controller, as its metric says: it has one figure for each priority.
func queueDepths(metrics prometheus.Gatherer) (map[string]int, error) {
	families, err := metrics.Gather()
	if err != nil {
		return nil, fmt.Errorf("reading the depth of the work queues: %w", err)
	}
	depths := map[string]int{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch name := controllerOf(metric); family.GetName() {
			case "controller_runtime_max_concurrent_reconciles": // of all controllers; a queue that was never used has no depth
				depths[name] += 0
			case "workqueue_depth":
				depths[name] += int(metric.GetGauge().GetValue())
			}
		}
	}
	return depths, nil
}

// controllerOf is the controller that a metric is about.
func controllerOf(metric *dto.Metric) string {
	for _, label := range metric.GetLabel() {
		if label.GetName() == "controller" {
			return label.GetValue()
		}
	}
	return ""
}
