package echo

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/status"
)

// publish writes the status of a report if it differs, and then reports its transitions. The API server rejects a status that was
// computed from an old version of the Echo, so that no transition is reported twice.
func (r *Reconciler) publish(ctx context.Context, echo *v1.Echo, report status.Report) error {
	if !controllers.SameStatus(&echo.Status, &report.Status) {
		if err := r.patchStatus(ctx, echo, report.Status); err != nil {
			r.unreported.publishing(client.ObjectKeyFromObject(echo), report, err)
			return err
		}
	}
	r.Metrics.Echoes.Reported(echo, &report.Status)
	r.Announce(ctx, echo, report.Transitions...)
	if !report.Silent {
		r.unreported.done(client.ObjectKeyFromObject(echo))
	}
	return nil
}
