package statusapi

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/echo-operator/echo-operator/internal/history"
)

// Server serves the status API. All fields are required, unless their comments allow an empty value.
type Server struct {
	// Cached reads Echoes and pods from the manager's cache.
	Cached client.Reader
	// Live reads the lease from the API server.
	Live client.Reader
	// History records what this process did for each Echo.
	History *history.History
	// Metrics provides the depth of the work queues.
	Metrics prometheus.Gatherer
	// Elected is closed when this process becomes the leader.
	Elected <-chan struct{}
	// Lease is the key of the leader's lease, or an empty key if leader election is disabled.
	Lease client.ObjectKey
	// Replica is the name of this process's pod.
	Replica string
	// Version is the version of the operator.
	Version string
	// Namespaces are the namespaces that the operator watches, or empty for all namespaces.
	Namespaces []string
}

// AddTo adds the status API to a manager's metrics endpoint.
func (s *Server) AddTo(mgr manager.Manager) error {
	handler := s.handler()
	for _, path := range []string{echoesPath, echoesPath + "/", diagnosticsPath} {
		if err := mgr.AddMetricsServerExtraHandler(path, handler); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+echoesPath, s.onLeader(s.listEchoes))
	mux.HandleFunc("GET "+echoesPath+"/{namespace}/{name}", s.onLeader(s.getEcho))
	mux.HandleFunc("GET "+diagnosticsPath, s.diagnose)
	return mux
}

func (s *Server) watches(namespace string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace)
}

// writeJSON responds with JSON that is indented for readability.
func writeJSON(out http.ResponseWriter, status int, body any) {
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Cache-Control", "no-store")
	out.WriteHeader(status)
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(body) // an error means that the client is gone
}

func writeError(out http.ResponseWriter, status int, message string) {
	writeJSON(out, status, map[string]string{"error": message})
}
