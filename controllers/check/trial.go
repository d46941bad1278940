package check

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status/checks"
	"github.com/echo-operator/echo-operator/internal/status/remedy"
)

// The operator creates Jobs only in dry runs. Anyone who is allowed to create CronJobs can create Jobs through them anyway.
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create

// tryRun returns the error with which the API server would reject a run's missing Job or pod. The error is nil if the API server would
// accept the object, or if tryRun cannot determine this. A dry run requires no permission to read events or quotas. Policies, webhooks, and
// OpenShift quotas also apply to dry runs.
func (r *Reconciler) tryRun(ctx context.Context, cronJob *batchv1.CronJob, lacks checks.Lacks) error {
	template := cronJob.Spec.JobTemplate
	meta := func(from metav1.ObjectMeta) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: cronJob.Namespace, Name: cronJob.Name + "-dry-run", Labels: from.Labels, Annotations: from.Annotations}
	}
	var err error
	kind := "Job"
	if lacks.Job {
		err = r.Client.Create(ctx, &batchv1.Job{ObjectMeta: meta(template.ObjectMeta), Spec: template.Spec}, client.DryRunAll)
	}
	if pod := template.Spec.Template; lacks.Pod && !isRefusal(err) {
		kind = "Pod"
		err = r.Client.Create(ctx, &corev1.Pod{ObjectMeta: meta(pod.ObjectMeta), Spec: pod.Spec}, client.DryRunAll)
	}
	if !isRefusal(err) {
		return nil
	}
	return &children.RequestError{Action: children.Creating, Kind: kind, Key: client.ObjectKey{Name: "of the check"}, Err: err}
}

// isRefusal reports whether Kubernetes' controllers would get the same error. It returns false for a missing permission, because the
// controllers' permissions differ from the operator's.
func isRefusal(err error) bool {
	return (apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || remedy.IsDenied(err)) && !remedy.LacksPermission(err)
}
