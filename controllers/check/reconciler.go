package check

import (
	"cmp"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/internal/tracing"
)

// Reconciler runs the checks of Echoes, and reports what they find. It is apart from the reconciler of Echoes: no Echo is less ready because
// of the way to it. All fields are required.
type Reconciler struct {
	controllers.Dependencies
	failures controllers.Failures
}

// +kubebuilder:rbac:groups=batch,resources=cronjobs,verbs=get;list;watch;create;patch;delete

// Reconcile makes one pass over the checks of an Echo.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo, err := controllers.Find(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo == nil || !echo.DeletionTimestamp.IsZero() || !hasChecks(echo) { // the CronJobs of an Echo go with it: it owns them
		r.Metrics.Checks.Reported(request.NamespacedName, nil)
		r.failures.End(request.NamespacedName, nil)
		return ctrl.Result{}, nil
	}
	tracing.SetGeneration(ctx, echo.Generation)
	next, failure := r.pass(ctx, echo)
	r.failures.End(request.NamespacedName, failure)
	r.Count(ctx, "check", failure)
	return controllers.Result(next, failure)
}

// hasChecks reports whether an Echo has checks, or had.
func hasChecks(echo *v1.Echo) bool { return len(echo.Spec.Checks)+len(echo.Status.Checks) > 0 }

// pass makes the CronJobs of an Echo as wanted, and writes what their last runs found out, even if the former failed. It returns when to look
// again if no event arrives earlier, and what failed.
func (r *Reconciler) pass(ctx context.Context, echo *v1.Echo) (time.Duration, *status.Failure) {
	key := client.ObjectKeyFromObject(echo)
	seen, err := r.converge(ctx, echo)
	failure := r.failures.Tolerate(key, status.Classify(err), r.Now())
	if failure.Silent() {
		return 0, failure
	}
	report := status.EvaluateChecks(echo, seen, r.Now())
	if err := r.publish(ctx, echo, report); err != nil {
		return 0, r.failures.Tolerate(key, status.Classify(err), r.Now())
	}
	if failure != nil && failure.NoRetry {
		failure.RetryAfter = report.Next // other checks wait for the time
	}
	return report.Next, failure
}

// converge makes the CronJobs of an Echo as wanted, and returns what is known of its checks. A check that cannot be made as wanted does not keep
// others from it. The status names a check before its CronJob is created, so that the CronJob is found again whatever happens to either.
func (r *Reconciler) converge(ctx context.Context, echo *v1.Echo) (status.ChecksObservation, error) {
	seen := status.ChecksObservation{Checks: map[string]status.CheckObservation{}, Gone: map[string]bool{}}
	if !status.NamesAllChecks(echo) {
		return seen, nil
	}
	pods, err := r.podsOf(ctx, echo)
	if err != nil {
		return seen, err
	}
	var failed []error
	for i := range echo.Spec.Checks {
		check := &echo.Spec.Checks[i]
		observed, err := r.ensure(ctx, echo, check)
		if err != nil {
			failed, observed.Refused = append(failed, err), err.Error()
		}
		observed.Pods = pods[check.Name]
		seen.Checks[check.Name] = observed
	}
	if !echo.Spec.Paused {
		failed = append(failed, r.prune(ctx, echo, seen.Gone))
	}
	return seen, status.RetriedFirst(failed)
}

// podsOf returns the pods of the checks of an Echo, by the names of the checks.
func (r *Reconciler) podsOf(ctx context.Context, echo *v1.Echo) (map[string][]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := r.Client.List(ctx, list, client.InNamespace(echo.Namespace), controllers.CachedPodsOf(echo)); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods := map[string][]corev1.Pod{}
	for _, pod := range list.Items {
		ofFormer := pod.CreationTimestamp.Before(&echo.CreationTimestamp) // an Echo of the same name was deleted
		if check := children.CheckOf(&pod); check != "" && !ofFormer {
			pods[check] = append(pods[check], pod)
		}
	}
	return pods, nil
}

// ensure makes the CronJob of a check as wanted, and returns what is known of it. A check that is not allowed has none.
func (r *Reconciler) ensure(ctx context.Context, echo *v1.Echo, check *v1.EchoCheck) (status.CheckObservation, error) {
	seen, refused := status.CheckObservation{}, r.Policy.CheckCheck(echo, check, r.Images)
	child, err := children.Check(echo, check, r.Images)
	if err != nil {
		return seen, err
	}
	if refused != nil {
		child.Want = nil
	}
	seen.Hash = children.CheckHash(child)
	live, err := r.ReadOwned(ctx, r.Client, echo, child)
	if err != nil {
		return seen, err
	}
	cronJob, _ := live.(*batchv1.CronJob)
	if cronJob != nil && cronJob.Status.LastScheduleTime != nil {
		seen.Scheduled = cronJob.Status.LastScheduleTime.Time
	}
	if echo.Spec.Paused {
		if cronJob != nil { // it runs on as it is
			seen.Hash = cronJob.Spec.JobTemplate.Spec.Template.Annotations[v1.AppliedHashAnnotation]
		}
		return seen, refused
	}
	return seen, cmp.Or(r.makeAsWanted(ctx, child, live), refused)
}

// makeAsWanted applies a CronJob that is not as wanted, and deletes one that is not wanted, or of which somebody edited the key of a list item:
// then to apply it would add another item.
func (r *Reconciler) makeAsWanted(ctx context.Context, child children.Child, live client.Object) error {
	if live != nil && child.Want == nil {
		return controllers.DeleteChild(ctx, r.Client, live, metav1.DeletePropagationBackground)
	}
	if child.Want == nil {
		return nil
	}
	if live != nil {
		difference, err := r.Schema.Compare(child, live)
		if err != nil || difference.None {
			return err
		}
		if !difference.Renamed.Empty() {
			return controllers.DeleteChild(ctx, r.Client, live, metav1.DeletePropagationBackground)
		}
	}
	if _, err := controllers.Apply(ctx, r.Client, child, live); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Applied a CronJob.", "cronJob", child.Key.Name)
	return nil
}

// prune deletes the CronJobs of the checks that an Echo no longer has, and notes which are gone. It asks the API server, because the cache may
// not hold yet what the pass before this one created.
func (r *Reconciler) prune(ctx context.Context, echo *v1.Echo, gone map[string]bool) error {
	for _, former := range status.FormerChecks(echo) {
		live, err := controllers.ReadChild(ctx, r.Live, children.CronJob(echo, former))
		switch {
		case err != nil:
			return err
		case live == nil || !metav1.IsControlledBy(live, echo):
			gone[former] = true
			continue
		}
		if err := controllers.DeleteChild(ctx, r.Client, live, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted a CronJob.", "cronJob", live.GetName())
	}
	return nil
}

// publish writes the results of the checks of an Echo if they differ, and then reports what changed. The API server rejects results that were
// computed from an old version of the Echo, so that nothing is reported twice.
func (r *Reconciler) publish(ctx context.Context, echo *v1.Echo, report status.CheckReport) error {
	if !controllers.SameStatus(&echo.Status, &report.Status) {
		patch, err := controllers.StatusPatch(echo, &report.Status)
		if err != nil {
			return fmt.Errorf("comparing the results of the checks: %w", err)
		}
		_, err = patch.Write(echo, func(answer client.Object, body client.Patch) error { return r.Client.Status().Patch(ctx, answer, body) })
		if err != nil {
			return fmt.Errorf("writing the results of the checks: %w", err)
		}
	}
	r.Metrics.Checks.Reported(client.ObjectKeyFromObject(echo), report.Status.Checks)
	r.Announce(ctx, echo, report.Transitions...)
	return nil
}

// Memories returns functions that drop one memory of the reconciler each.
func (r *Reconciler) Memories() []func() {
	return []func(){r.failures.Clear}
}
