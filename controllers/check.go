package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/apply"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// CheckReconciler runs the Echoes' path checks as CronJobs, and reports their results. It is separate from the Echo reconciler, because the
// path to an Echo does not affect the Echo's readiness. Both write different parts of an Echo's status, and the API server rejects a write
// that is based on an old version of the Echo. All fields are required.
type CheckReconciler struct {
	Dependencies
	failures failures
}

// Reconcile runs the checks of an Echo.
func (r *CheckReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	echo, err := find(ctx, r.Client, request.NamespacedName, &v1.Echo{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if echo == nil || !echo.DeletionTimestamp.IsZero() { // CronJobs are deleted with their Echo
		r.Metrics.Checks.Reported(request.NamespacedName, nil, nil)
		r.failures.end(request.NamespacedName, nil)
		return ctrl.Result{}, nil
	}
	next, failure := r.reconcileEcho(ctx, echo)
	return r.finish(ctx, "check", &r.failures, request.NamespacedName, next, failure)
}

// hasChecks reports whether an Echo has or had checks.
func hasChecks(echo client.Object) bool {
	return len(echo.(*v1.Echo).Spec.Checks)+len(echo.(*v1.Echo).Status.Checks) > 0
}

// reconcileEcho brings an Echo's CronJobs to their desired state. Even if that fails, reconcileEcho writes the results of the last runs. It
// returns the failure, and the time until the next reconcile if no event arrives.
func (r *CheckReconciler) reconcileEcho(ctx context.Context, echo *v1.Echo) (time.Duration, *status.Failure) {
	key := client.ObjectKeyFromObject(echo)
	seen, err := r.converge(ctx, echo)
	failure := r.failures.tolerate(key, status.Classify(err), r.Now())
	if failure.Silent() {
		return 0, failure
	}
	report := status.EvaluateChecks(echo, seen, r.Now())
	if err := (&echoWriter{client: r.Client}).setStatus(ctx, echo, &report.Status); err != nil {
		err = fmt.Errorf("writing the results of the checks: %w", err)
		return 0, r.failures.tolerate(key, status.Classify(err), r.Now())
	}
	r.SendEvents(ctx, echo, report.Transitions...)
	r.Metrics.Checks.Reported(key, report.Status.Checks, report.Overdue)
	if failure != nil && failure.NoRetry {
		failure.RetryAfter = report.Next // other checks are due then
	}
	return report.Next, failure
}

// converge brings an Echo's CronJobs to their desired state, and returns the observed state of the checks. An error in one check does not
// stop the other checks. The status names a check before its CronJob is created, so that a later reconcile always finds the CronJob.
func (r *CheckReconciler) converge(ctx context.Context, echo *v1.Echo) (status.ChecksObservation, error) {
	seen := status.ChecksObservation{Checks: map[string]status.CheckRuns{}, Gone: map[string]bool{}}
	if !status.AllChecksNamed(echo) {
		return seen, nil
	}
	all, err := podsIn(ctx, r.Client, objects.PodOf, client.InNamespace(echo.Namespace), cachedPodsOf(echo))
	if err != nil {
		return seen, fmt.Errorf("listing the pods: %w", err)
	}
	pods := map[string][]*objects.Pod{}
	for _, pod := range all {
		ofFormer := pod.CreationTimestamp.Before(&echo.CreationTimestamp) // from a deleted Echo of the same name
		if pod.Check != "" && !ofFormer {
			pods[pod.Check] = append(pods[pod.Check], pod)
		}
	}
	service, err := find(ctx, r.Client, client.ObjectKeyFromObject(echo), &corev1.Service{})
	if err != nil {
		return seen, fmt.Errorf("reading the Service: %w", err)
	}
	var failed []error
	for i := range echo.Spec.Checks {
		check := &echo.Spec.Checks[i]
		observed, err := r.ensure(ctx, echo, check, service, pods[check.Name])
		if err != nil {
			failed, observed.Refused = append(failed, err), status.Remedy(err)
		}
		seen.Checks[check.Name] = observed
	}
	if !echo.Spec.Paused {
		failed = append(failed, r.prune(ctx, echo, seen.Gone))
	}
	return seen, status.RetriedFirst(failed)
}

// ensure brings a check's CronJob to its desired state, and returns the observed state of the CronJob and its pods. A check that is not
// allowed has no CronJob.
func (r *CheckReconciler) ensure(ctx context.Context, echo *v1.Echo, check *v1.EchoCheck, service *corev1.Service,
	pods []*objects.Pod) (status.CheckRuns, error) {
	seen := status.CheckRuns{Pods: pods}
	child, err := objects.Check(echo, check, service, r.Images, r.Proxies)
	if err != nil {
		return seen, err
	}
	refused := cmp.Or(r.Policy.AllowsPathCheck(echo, check, r.Images), r.Policy.PodSecurity.Validate(child))
	from := client.Reader(r.Client)
	if refused != nil {
		child.Desired, from = nil, r.Live // the cache does not hold a CronJob that lost its labels, but the CronJob still runs
	}
	if seen.Waits = errors.Is(refused, objects.ErrNoExternalURL); seen.Waits {
		refused = nil
	}
	seen.Hash = objects.CheckHash(child)
	_, seen.LacksProxy = objects.CheckProxy(echo, check, r.Proxies)
	live, err := r.readOwned(ctx, from, echo, child)
	if err != nil {
		return seen, err
	}
	cronJob, _ := live.(*batchv1.CronJob)
	if cronJob != nil {
		seen.Applied = objects.AppliedAt(cronJob)
		seen.Scheduled = cmp.Or(cronJob.Status.LastScheduleTime, &metav1.Time{}).Time
		if seen.LacksPod(echo, check, r.Now()) {
			seen.Blocked = r.tryPod(ctx, cronJob)
		}
	}
	if echo.Spec.Paused {
		if cronJob != nil { // the CronJob keeps running unchanged
			seen.Hash = cronJob.Spec.JobTemplate.Spec.Template.Annotations[v1.AppliedHashAnnotation]
		}
		return seen, refused
	}
	writer := childWriter{client: r.Client, live: r.Live}
	writer.compare = func(child objects.Child, live client.Object) (apply.Difference, error) {
		difference, err := apply.Compare(child, live)
		// If another client edited the key of a list item, an apply would add a second item.
		difference.Replace = difference.Replace || difference.Renamed != nil && !difference.Renamed.Empty()
		return difference, err
	}
	after, err := writer.ensure(ctx, child, live)
	if held := status.HeldBy(child.Kind, live); held != nil { // the CronJob controller starts no more runs
		seen.Refused = held.Problem()
	}
	if after != nil && after != live {
		log.FromContext(ctx).Info("Applied a CronJob.", "cronJob", child.Key.Name)
	}
	return seen, cmp.Or(err, refused)
}

// tryPod returns the reason why the API server would reject the missing pod of a run. The reason is zero if the API server would accept the
// pod, or if tryPod cannot determine this: the permissions of Kubernetes' controllers differ from the operator's. A dry run requires no
// permission to read events or quotas. Policies, webhooks, and OpenShift quotas also apply to dry runs.
func (r *CheckReconciler) tryPod(ctx context.Context, cronJob *batchv1.CronJob) message.Problem {
	template := cronJob.Spec.JobTemplate.Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = cronJob.Namespace, cronJob.Name+"-dry-run"
	err := r.Client.Create(ctx, pod, client.DryRunAll)
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) && !status.IsDenied(err) || status.LacksPermission(err) {
		return message.Problem{}
	}
	return status.Remedy(&objects.RequestError{Action: "created", Kind: "Pod", Key: client.ObjectKey{Name: "of the check"}, Err: err})
}

// prune deletes the CronJobs of checks that an Echo no longer has, and records which CronJobs are gone. It reads the CronJobs from the API
// server, because the cache may not yet hold a CronJob that the previous reconcile created. The status does not name a check whose CronJob
// was created by a reconcile of an old version of the Echo, for example after a restart with an API server whose cache is behind.
func (r *CheckReconciler) prune(ctx context.Context, echo *v1.Echo, gone map[string]bool) error {
	cached := &batchv1.CronJobList{}
	if err := r.Client.List(ctx, cached, client.InNamespace(echo.Namespace), client.MatchingLabels(objects.InstanceLabels(echo))); err != nil {
		return fmt.Errorf("listing the CronJobs: %w", err)
	}
	var found []string
	for _, each := range cached.Items {
		found = append(found, objects.CheckOf(&each))
	}
	for _, former := range status.FormerChecks(echo, found...) {
		live, err := readChild(ctx, r.Live, objects.CronJob(echo, former))
		switch {
		case err != nil:
			return err
		case live == nil || !metav1.IsControlledBy(live, echo) || !live.GetDeletionTimestamp().IsZero(): // starts no more runs
			gone[former] = true
			continue
		}
		if err := deleteChild(ctx, r.Client, live, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		log.FromContext(ctx).Info("Deleted a CronJob.", "cronJob", live.GetName())
	}
	return nil
}

// Memories returns functions that each clear one of the reconciler's memories.
func (r *CheckReconciler) Memories() []func() {
	return []func(){r.failures.clear}
}

// SetupWithManager registers the reconciler with a manager. An Echo with checks is reconciled when the Echo, one of its CronJobs, a pod of
// one of its checks, or the internal traffic policy of its Service changes. It is also reconciled if it has a CronJob at the start, because
// the CronJob may be of a check that the Echo no longer has.
func (r *CheckReconciler) SetupWithManager(mgr ctrl.Manager) error {
	ofOwner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1.Echo{}, handler.OnlyControllerOwner())
	withChecks := predicate.Funcs{ // before or after the change
		CreateFunc: func(e event.CreateEvent) bool { return hasChecks(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return hasChecks(e.ObjectOld) || hasChecks(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return hasChecks(e.Object) },
	}
	echoOfCheck := func(_ context.Context, pod client.Object) []reconcile.Request {
		if objects.CheckOf(pod) == "" {
			return nil
		}
		return requestsFor(pod.GetNamespace(), objects.EchoOf(pod))
	}
	return newController(mgr, "check").
		Watches(&v1.Echo{}, &echoEvents{changed: func(client.Object) {}}, builder.WithPredicates(predicate.ResourceVersionChangedPredicate{}, withChecks)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(echoOfCheck),
			builder.WithPredicates(sinceStart(), updated(func(before, after *corev1.Pod) bool {
				return !equality.Semantic.DeepEqual(before.Status, after.Status)
			}))).
		Watches(objects.NewCronJob(), ofOwner).
		Watches(&corev1.Service{}, ofOwner, builder.WithPredicates(sinceStart(), updated(func(before, after *corev1.Service) bool {
			return !equality.Semantic.DeepEqual(before.Spec.InternalTrafficPolicy, after.Spec.InternalTrafficPolicy)
		}))).
		Complete(r.Traces.Reconciler("check", r))
}
