// Package echoesapi serves the status API to clients that the API server authorizes.
//
// It uses the HTTPS metrics endpoint, responds from memory, and refers clients to the leader, because only the leader knows the Echoes.
package echoesapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const echoesPath = "/echoes"

// Server serves the status API. All fields are required, unless their comments allow an empty value.
type Server struct {
	// Cached reads Echoes and pods from the manager's cache.
	Cached client.Reader
	// Live reads the lease from the API server.
	Live client.Reader
	// Elected is closed when this process becomes the leader.
	Elected <-chan struct{}
	// Lease is the key of the leader's lease, or an empty key if leader election is disabled.
	Lease client.ObjectKey
	// Namespaces are the namespaces that the operator watches, or empty for all namespaces.
	Namespaces []string
}

// AddTo adds the status API to a manager's metrics endpoint.
func (s *Server) AddTo(mgr manager.Manager) error {
	handler := s.handler()
	if err := mgr.AddMetricsServerExtraHandler(echoesPath, handler); err != nil {
		return err
	}
	return mgr.AddMetricsServerExtraHandler(echoesPath+"/", handler)
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+echoesPath, s.onLeader(s.listEchoes))
	mux.HandleFunc("GET "+echoesPath+"/{namespace}/{name}", s.onLeader(s.getEcho))
	return mux
}

// onLeader calls the handler only on the leader. Other replicas respond with the name of the leader's pod.
func (s *Server) onLeader(next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		select {
		case <-s.Elected:
			next(out, r)
			return
		default:
		}
		leader, err := s.leader(r.Context())
		switch {
		case err != nil:
			writeError(out, http.StatusServiceUnavailable, "this replica is not the leader, and the leader cannot be determined: "+err.Error())
		case leader == "":
			writeError(out, http.StatusServiceUnavailable, "there is no leader at the moment; try again later")
		default:
			writeJSON(out, http.StatusServiceUnavailable, map[string]string{
				"error": "this replica is not the leader; ask pod " + leader, "leader": leader})
		}
	}
}

// leader returns the name of another replica's pod that is the leader, or "" if there is no leader.
func (s *Server) leader(ctx context.Context) (string, error) {
	if s.Lease.Name == "" { // leader election is disabled, and this replica is still starting
		return "", nil
	}
	lease := &coordinationv1.Lease{}
	if err := s.Live.Get(ctx, s.Lease, lease); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading the lease: %w", err)
	}
	pod, _, _ := strings.CutLast(*cmp.Or(lease.Spec.HolderIdentity, new(string)), "_") // before the unique suffix
	return pod, nil
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
