package controllers

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/status"
)

// reconciler returns a reconciler for a fake cluster.
func echoReconciler(w *World) *EchoReconciler {
	return &EchoReconciler{Dependencies: w.Dependencies, Labeled: w.Labeled()}
}

// failing returns a reconciler whose reconciles of the Echo have failed long enough for the status to report the failure.
func failing(w *World) *EchoReconciler {
	r := echoReconciler(w)
	r.failures.Tolerate(client.ObjectKey{Namespace: "ns", Name: "x"}, status.Classify(ErrRefused),
		w.Dependencies.Now().Add(-Tolerance))
	return r
}

// requestForEcho returns the request for the Echo of fakecluster.
func requestForEcho() ctrl.Request {
	return ctrl.Request{Namespace: "ns", Name: "x"}
}
