package companion

import (
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
	"github.com/echo-operator/echo-operator/internal/status"
)

// newsOf returns the transition to report for a pod's companion, or nil if there is no problem.
func newsOf(view *echopod.CompanionState, plan echopod.CompanionPlan) *status.Transition {
	if !plan.EchoMissing {
		return nil
	}
	missing := status.EchoNotFound(view.Owner.Labels[v1.CompanionLabel])
	return &missing
}

// report sends an event about a pod's companion, unless the event would repeat the last one. If news is nil, report forgets the last event.
func (r *Reconciler) report(owner *corev1.Pod, request ctrl.Request, news *status.Transition) {
	said, reason := "", ""
	if owner != nil && news != nil {
		reason = news.Reason.String()
		said = string(owner.UID) + "/" + owner.Labels[v1.CompanionLabel] + "/" + reason
	}
	r.Metrics.Companions.Reported(request.NamespacedName, reason)
	if r.reported.Replace(request.NamespacedName, said) && said != "" {
		r.SendEvent(owner, *news)
	}
}
