package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// maxNote is the longest text that an event may carry, in bytes.
const maxNote = 1024

// publish writes a status if it says something new, and then tells the transitions as events. A status that was computed
// from an old Echo is refused by the API server, so no transition is told twice.
func (r *EchoReconciler) publish(ctx context.Context, echo *v1.Echo, status v1.EchoStatus, news []transition) error {
	if !equality.Semantic.DeepEqual(echo.Status, status) {
		before := echo.DeepCopy()
		echo.Status = status
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Status().Patch(ctx, echo, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("writing the status: %w", err)
		}
	}
	r.tell(ctx, echo, news)
	return nil
}

// tell records transitions as events, and in the log.
func (r *EchoReconciler) tell(ctx context.Context, echo *v1.Echo, news []transition) {
	for _, n := range news {
		log.FromContext(ctx).Info(n.note, "reason", n.reason)
		r.Recorder.Eventf(echo, nil, n.eventType, n.reason, n.action, "%s", cut(n.note, maxNote))
	}
}
