package controllers

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

// publish writes the status of a report if it differs, and then reports its transitions. The API server rejects a status that was
// computed from an old version of the Echo, so that no transition is reported twice.
func (r *EchoReconciler) publish(ctx context.Context, echo *v1.Echo, report status.Report) error {
	if !equality.Semantic.DeepEqual(echo.Status, report.Status) {
		before := echo.DeepCopy()
		echo.Status = report.Status
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Status().Patch(ctx, echo, patch); err != nil {
			r.unreported.publishing(client.ObjectKeyFromObject(echo), report, err)
			return fmt.Errorf("writing the status: %w", err)
		}
	}
	r.announce(ctx, echo, report.Transitions...)
	return nil
}

// announce reports transitions as events, and in the log.
func (r *EchoReconciler) announce(ctx context.Context, echo *v1.Echo, transitions ...status.Transition) {
	for _, t := range transitions {
		log.FromContext(ctx).Info(t.Note, "reason", t.Reason.String())
		r.Recorder.Eventf(echo, nil, t.Reason.EventType(), t.Reason.String(), t.Action, "%s", t.EventNote())
	}
}
