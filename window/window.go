package window

import (
	"encoding/json"
	"net/http"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/echo-operator/echo-operator/controllers"
)

// Window answers what people ask about the operator. All fields are required, but for those that may be empty.
type Window struct {
	// Cached reads Echoes and pods from the manager's cache.
	Cached client.Reader
	// Live reads the lease from the API server.
	Live client.Reader
	// Journal is what this process did about each Echo.
	Journal *controllers.Journal
	// Metrics has the depth of the work queues.
	Metrics prometheus.Gatherer
	// Elected is closed when this process leads.
	Elected <-chan struct{}
	// Lease is what the leader holds; empty if nobody has to.
	Lease client.ObjectKey
	// Replica is the name of this process' pod.
	Replica string
	// Version is that of the operator.
	Version string
	// Namespaces are those that the operator looks after; empty for all.
	Namespaces []string
	// LogLevel is how much this process logs.
	LogLevel *LogLevel
}

// AddTo has a manager's endpoint answer.
func (w *Window) AddTo(mgr manager.Manager) error {
	handler := w.handler()
	for _, path := range []string{echoesPath, echoesPath + "/", diagnosticsPath, logLevelPath} {
		if err := mgr.AddMetricsServerExtraHandler(path, handler); err != nil {
			return err
		}
	}
	return nil
}

func (w *Window) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+echoesPath, w.onLeader(w.listEchoes))
	mux.HandleFunc("GET "+echoesPath+"/{namespace}/{name}", w.onLeader(w.getEcho))
	mux.HandleFunc("GET "+diagnosticsPath, w.diagnose)
	mux.HandleFunc("GET "+logLevelPath, w.LogLevel.get)
	mux.HandleFunc("PUT "+logLevelPath, w.LogLevel.put)
	return mux
}

// watches tells whether the operator looks after a namespace.
func (w *Window) watches(namespace string) bool {
	return len(w.Namespaces) == 0 || slices.Contains(w.Namespaces, namespace)
}

// reply answers with JSON. It is indented because people read it.
func reply(out http.ResponseWriter, status int, answer any) {
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Cache-Control", "no-store")
	out.WriteHeader(status)
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(answer) // who asked has gone
}

// refuse answers with a message that says what is wrong.
func refuse(out http.ResponseWriter, status int, message string) {
	reply(out, status, map[string]string{"error": message})
}
