package echo

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

// publish writes a report's status if the status has changed, and then reports the transitions.
func (r *Reconciler) publish(ctx context.Context, echo *v1.Echo, report status.Report) error {
	key := client.ObjectKeyFromObject(echo)
	if err := r.PublishStatus(ctx, r.echoWriter(), echo, &report.Status, report.Transitions); err != nil {
		r.memory.pending.publishing(key, report, err)
		return fmt.Errorf("writing the status: %w", err)
	}
	r.Metrics.Echoes.Reported(echo, &report.Status)
	if !report.Silent {
		r.memory.pending.done(key)
	}
	return nil
}
