package controllers

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

// PublishStatus writes an Echo's status if it has changed, and then reports transitions. The API server rejects a status that was computed
// from an old version of the Echo, so no transition is reported twice.
func (d *Dependencies) PublishStatus(
	ctx context.Context, writer *EchoWriter, echo *v1.Echo, current *v1.EchoStatus, transitions []status.Transition,
) error {
	if err := writer.SetStatus(ctx, echo, current); err != nil {
		return err
	}
	d.SendEvents(ctx, echo, transitions...)
	return nil
}

// SendEvents reports transitions as events and in the log.
func (d *Dependencies) SendEvents(ctx context.Context, echo *v1.Echo, transitions ...status.Transition) {
	for _, t := range transitions {
		log.FromContext(ctx).Info(t.Note, "reason", t.Reason.String())
		d.SendEvent(echo, t)
	}
}

// SendEvent reports a transition of an object as an event.
func (d *Dependencies) SendEvent(regarding client.Object, t status.Transition) {
	d.Recorder.Eventf(regarding, t.Related, t.Reason.EventType(), t.Reason.String(), t.Action, "%s", t.EventNote())
}
