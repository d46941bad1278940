package statusapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (s *Server) leads() bool {
	select {
	case <-s.Elected:
		return true
	default:
		return false
	}
}

// leader returns the name of the leader's pod, or "" if there is no leader.
func (s *Server) leader(ctx context.Context) (string, error) {
	if s.leads() {
		return s.Replica, nil
	}
	if s.Lease.Name == "" { // leader election is disabled, and this replica is still starting
		return "", nil
	}
	lease := &coordinationv1.Lease{}
	if err := s.Live.Get(ctx, s.Lease, lease); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading the lease: %w", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	return podOf(*lease.Spec.HolderIdentity), nil
}

// podOf returns the name of the lease holder's pod, which is the holder identity without its unique suffix.
func podOf(holder string) string {
	if i := strings.LastIndexByte(holder, '_'); i >= 0 {
		return holder[:i]
	}
	return holder
}

// onLeader calls the handler only on the leader. Other replicas respond with the name of the leader's pod.
func (s *Server) onLeader(next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		if s.leads() {
			next(out, r)
			return
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
