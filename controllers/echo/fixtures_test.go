package echo

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

// reconciler returns a reconciler for a fake cluster.
func reconciler(w *fakecluster.World) *Reconciler {
	return &Reconciler{Dependencies: w.Dependencies, Labeled: w.Labeled()}
}

// failing returns a reconciler whose reconciles of the Echo have failed long enough for the status to report the failure.
func failing(w *fakecluster.World) *Reconciler {
	r := reconciler(w)
	r.failures.Tolerate(client.ObjectKey{Namespace: "ns", Name: "x"}, status.Classify(fakecluster.ErrRefused),
		w.Dependencies.Now().Add(-controllers.Tolerance))
	return r
}

// requestForEcho returns the request for the Echo of fakecluster.
func requestForEcho() ctrl.Request {
	return ctrl.Request{Namespace: "ns", Name: "x"}
}
