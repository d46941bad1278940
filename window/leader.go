package window

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// leads tells whether this replica does the work, and so knows of it.
func (w *Window) leads() bool {
	select {
	case <-w.Elected:
		return true
	default:
		return false
	}
}

// leader is the name of the pod that leads, empty if none does.
func (w *Window) leader(ctx context.Context) (string, error) {
	if w.leads() {
		return w.Replica, nil
	}
	if w.Lease.Name == "" { // about to begin
		return "", nil
	}
	lease := &coordinationv1.Lease{}
	if err := w.Live.Get(ctx, w.Lease, lease); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("reading the lease: %w", err)
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	return podOf(*lease.Spec.HolderIdentity), nil
}

// podOf is the name of the pod that holds a lease, from which the holder is named; what follows tells processes apart.
func podOf(holder string) string {
	if i := strings.LastIndexByte(holder, '_'); i >= 0 {
		return holder[:i]
	}
	return holder
}

// onLeader has only the leader answer, and the others name it.
func (w *Window) onLeader(next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, r *http.Request) {
		if w.leads() {
			next(out, r)
			return
		}
		leader, err := w.leader(r.Context())
		switch {
		case err != nil:
			refuse(out, http.StatusServiceUnavailable, "this replica does not lead, and cannot tell which does: "+err.Error())
		case leader == "":
			refuse(out, http.StatusServiceUnavailable, "no replica leads at the moment; try again")
		default:
			reply(out, http.StatusServiceUnavailable, map[string]string{
				"error": "this replica does not lead and does not know: ask the pod " + leader, "leader": leader})
		}
	}
}
