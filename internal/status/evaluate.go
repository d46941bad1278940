// Package status determines the outcome of reconciling an Echo: the Echo's status, its events, and how to handle an error.
//
// The functions in this package are pure: they compute their results from the reconcile's observations, and send no requests.
package status

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// Report is the result of a reconcile.
type Report struct {
	Status v1.EchoStatus
	// Transitions holds the changes since the previous status. They are reported as events after Status is written.
	Transitions []Transition
	// Next is the time until the next reconcile if no event arrives, or zero if nothing depends on time.
	Next time.Duration
	// Overdue holds, by check, the time after which the check has had no conclusion for too long. It may be zero.
	Overdue map[string]time.Time
}

// Observation records what a reconcile observed and changed. It is valid even if the reconcile failed. A nil object is unknown or missing.
type Observation struct {
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	Ingress    *networkingv1.Ingress
	// NoDeployment is true if the Deployment is known to be missing and the reconcile did not create it.
	NoDeployment bool
	// Unwatched is true if a child lost the label that the watches filter by. The operator then receives no events for the child.
	Unwatched bool
	// Pods are the pods of the Deployment, newest first.
	Pods []*objects.Pod
	// Nodes contains the nodes on which the pods run, keyed by name.
	Nodes     map[string]Node
	HTTPRoute *gatewayv1.HTTPRoute
	GRPCRoute *gatewayv1.GRPCRoute
	// BackendTLSPolicy specifies how Gateways connect to the pods. It is nil if Gateways do not use TLS for these connections.
	BackendTLSPolicy *gatewayv1.BackendTLSPolicy
	// Gateways are the Echo's existing Gateways, or nil if they cannot be read.
	Gateways objects.Gateways
	// GatewaysUnknown is true if the cluster did not report which Gateway API kinds it serves.
	GatewaysUnknown bool
	// GatewaysRefused is the reason why the operator cannot read Gateways. It is empty if the operator can read them or does not need to.
	GatewaysRefused string
	// Unserved lists the Gateway API kinds that the Echo requires but the operator cannot use.
	Unserved []Unserved
	// NoRoute is the reason why OpenShift creates no Route for the Ingress. It is empty if OpenShift creates a Route or if the cluster does
	// not serve the Route API.
	NoRoute string
	// MissingCompanions is the number of pods that request a companion that does not exist.
	MissingCompanions int
	// Contested is a field that another client keeps changing, such as "spec.replicas of the Deployment", or empty. The operator corrects it
	// again after CorrectedAfter.
	Contested      string
	CorrectedAfter time.Duration
	// Held is the first object that another controller keeps although it is being deleted, or nil if there is none. If the Echo itself is
	// being deleted and still has pods, Held is also nil.
	Held *Held
}

// Unserved is a kind that the operator cannot use. Refused is the reason, or empty if the cluster does not serve the kind.
type Unserved struct{ Kind, Refused string }

// Record stores an object if the Echo's status depends on the object.
func (o *Observation) Record(object client.Object) {
	switch object := object.(type) {
	case *appsv1.Deployment:
		o.Deployment = object
	case *corev1.Service:
		o.Service = object
	case *networkingv1.Ingress:
		o.Ingress = object
	case *gatewayv1.HTTPRoute:
		o.HTTPRoute = object
	case *gatewayv1.GRPCRoute:
		o.GRPCRoute = object
	case *gatewayv1.BackendTLSPolicy:
		o.BackendTLSPolicy = object
	}
}

// Evaluate returns the report on a reconcile of an Echo. If the reconcile succeeded, failure is nil. A silent failure leaves the status
// unchanged and reports no transitions.
func Evaluate(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) Report {
	if failure.Silent() {
		return Report{Status: echo.Status}
	}
	var o outcome
	next := seen.CorrectedAfter
	switch {
	case failure != nil:
		o = failedOutcome(echo, seen, failure, now)
	case echo.Spec.Paused:
		o = pausedOutcome(&echo.Status, seen, now)
	default:
		pods := availabilityOf(seen.Deployment, echo.Spec.DesiredReplicas(), &echo.Status, now)
		routes, wait := routeCause(echo, seen, now)
		o, next = podsOutcome(pods, podsCause(&echo.Status, seen, pods), routes), Earliest(next, wait)
		o.notes = append(o.notes, notesOn(echo, seen)...)
		o.routed = routes == (cause{}) && objects.HasGateway(echo)
		o, wait = o.withHeld(seen.Held, now)
		next = Earliest(next, wait)
	}
	status := measure(echo, seen, failure)
	record(status, o, echo.Generation, now)
	if seen.Unwatched {
		next = Earliest(next, LookPeriod)
	}
	if left := o.untilStalled(status, now); failure.IsRefused() && left > 0 { // the wait equals the time that the rejection has lasted
		next = Earliest(next, min(max(degradedFor(status, now), refusalRetry), left))
	} else if failure.IsRefused() {
		next = Earliest(next, LookPeriod)
	} else if failure == nil { // during a failure, the progress deadline is ignored, because the status reports only the failure
		next = Earliest(next, Earliest(o.untilStalled(status, now), untilOverdue(status, seen.Deployment, now)))
	}
	return Report{Status: *status, Transitions: transitions(&echo.Status, status, o, seen), Next: next}
}

// EvaluateDeletion returns the report on a reconcile of an Echo that is being deleted. If the reconcile succeeded, failure is nil. A silent
// failure leaves the status unchanged and reports no transitions.
func EvaluateDeletion(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) Report {
	if failure.Silent() {
		return Report{Status: echo.Status}
	}
	status, o := echo.Status.DeepCopy(), deletingOutcome(seen.Held, failure, now)
	status.ObservedGeneration = echo.Generation
	measureObjects(status, seen)
	record(status, o, echo.Generation, now)
	return Report{Status: *status, Transitions: transitions(&echo.Status, status, o, Observation{})}
}

// record writes an outcome to a status. A condition keeps its transition time while its status stays the same.
func record(status *v1.EchoStatus, o outcome, generation int64, now time.Time) {
	status.Phase = o.phase
	status.Message = message.Short(message.MaxStatus, o.problem, slices.Concat(o.notes, []string{o.counts})...)
	why, degraded := o.problem.String(), "No lasting problem is known."
	if o.degraded == metav1.ConditionTrue {
		why, degraded = o.problem.Headline(), o.attention.String() // the Ready condition does not repeat the Degraded condition's message
	}
	if o.ready == metav1.ConditionTrue {
		why = ""
	}
	set := func(kind string, value metav1.ConditionStatus, reason v1.Reason, text string) {
		setCondition(status, metav1.Condition{
			Type: kind, Status: value, Reason: reason.String(), Message: message.Truncate(text, message.MaxCondition),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		})
	}
	set(v1.ConditionReady, o.ready, o.readyReason, message.Join(o.counts, why, message.Join(o.notes...)))
	set(v1.ConditionProgressing, o.progressing, o.progressingReason, o.rollout)
	set(v1.ConditionDegraded, o.degraded, o.degradedReason, degraded)
	isStalled := o.stalls != stallsNever && o.ready != metav1.ConditionTrue && o.degraded == metav1.ConditionTrue && o.untilStalled(status, now) == 0
	if isStalled { // kstatus shows only this condition's message
		set(v1.ConditionStalled, metav1.ConditionTrue, o.readyReason, o.problem.String())
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1.ConditionStalled)
	}
}

// setCondition sets a condition. It keeps the conditions in a fixed order, whichever was set first. The console shows this order.
func setCondition(status *v1.EchoStatus, condition metav1.Condition) {
	meta.SetStatusCondition(&status.Conditions, condition)
	order := []string{v1.ConditionReady, v1.ConditionProgressing, v1.ConditionDegraded, v1.ConditionStalled, v1.ConditionPathsHealthy}
	rank := func(c metav1.Condition) int {
		if i := slices.Index(order, c.Type); i >= 0 {
			return i
		}
		return len(order) // another client set this condition
	}
	slices.SortStableFunc(status.Conditions, func(a, b metav1.Condition) int { return rank(a) - rank(b) })
}

// measure returns the status except for the phase, the message, and the conditions. Fields that the reconcile did not observe keep their
// values. The external URL also keeps its value until the spec is applied, or until the URLs no longer lead to the Echo's pods.
func measure(echo *v1.Echo, seen Observation, failure *Failure) *v1.EchoStatus {
	status := echo.Status.DeepCopy()
	status.ObservedGeneration = echo.Generation
	status.Selector = labels.SelectorFromSet(objects.SelectorLabels(echo)).String()
	measureObjects(status, seen)
	if isTaken := failure != nil && failure.Reason == v1.ReasonNameConflict; seen.NoDeployment || isTaken && seen.Service == nil {
		status.URL, status.ExternalURL = "", "" // they would not lead to the Echo's pods
	} else if seen.Service != nil { // the Service works regardless of other failures
		status.URL = cmp.Or(objects.LiveURL(echo, seen.Service), status.URL)
	}
	if failure == nil && seen.Held == nil && !echo.Spec.Paused {
		status.URL = objects.URL(echo)
		if seen.Service != nil && !seen.GatewaysUnknown {
			status.ExternalURL = objects.ExternalURL(echo, seen.Service, seen.HTTPRoute, seen.Gateways)
		}
	}
	if seen.Nodes != nil {
		status.NodeProblems = nodeProblems(seen.Nodes)
	}
	return status
}

// measureObjects records in a status the Deployment's replica counts, and which pods of an Echo exist.
func measureObjects(status *v1.EchoStatus, seen Observation) {
	d := seen.Deployment
	if d == nil && seen.NoDeployment {
		d = &appsv1.Deployment{}
	}
	if d != nil {
		status.Replicas = d.Status.Replicas
		status.ReadyReplicas = d.Status.ReadyReplicas
		status.UpdatedReplicas = d.Status.UpdatedReplicas
	}
	if seen.Pods != nil {
		status.Pods = podStates(seen.Pods)
	}
}

// Earliest returns the shorter of two durations, but ignores a zero duration.
func Earliest(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

const (
	// stalledAfter is how long a rejection must last before the Echo is stalled. The operator waits because missing objects are often
	// created at about the same time as the Echo.
	stalledAfter = time.Minute
	// refusalRetry is the wait before the first retry after a rejection that the status reports.
	refusalRetry = 2 * time.Second
)

// stalls specifies when an Echo becomes stalled. kstatus then reports the Echo as failed, and tools that wait for the Echo give up.
type stalls int

const (
	stallsNever stalls = iota
	stallsLater
	stallsAtOnce
)

// stallsBy returns when an Echo that is not ready becomes stalled, depending on the reason. Problems with images, nodes, and quotas can
// resolve without an edit to the Echo.
func stallsBy(reason v1.Reason) stalls {
	switch reason {
	case v1.ReasonInvalidSpec, v1.ReasonNameConflict:
		return stallsAtOnce
	case v1.ReasonForbidden, v1.ReasonApplyFailed, v1.ReasonPodsRejected, v1.ReasonServiceAccountNotFound:
		return stallsLater
	default:
		return stallsNever
	}
}

// stalls returns when a failure causes an Echo to stall.
func (f *Failure) stalls() stalls {
	switch {
	case f.Reason == v1.ReasonInvalidSpec && !f.NoRetry: // from the API server, which may accept the spec after other objects change
		return stallsLater
	case f.Reason == v1.ReasonApplyFailed && !slices.Contains([]int32{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType}, responseOf(f.Err).Code): // not rejected because of its content
		return stallsNever
	default:
		return stallsBy(f.Reason)
	}
}

// stalls returns when a cause of missing pods makes an Echo stall.
func (c cause) stalls() stalls {
	if !c.lasting {
		return stallsNever
	}
	return stallsBy(c.reason)
}

// IsRefused reports whether the API server keeps rejecting one of the reconcile's requests until a user acts.
func (f *Failure) IsRefused() bool { return f != nil && f.stalls() == stallsLater }

// untilStalled returns the time until an Echo becomes stalled, or zero if the Echo is already stalled or will not stall.
func (o outcome) untilStalled(status *v1.EchoStatus, now time.Time) time.Duration {
	if o.stalls != stallsLater || o.degraded != metav1.ConditionTrue || o.ready == metav1.ConditionTrue {
		return 0
	}
	return max(stalledAfter-degradedFor(status, now), 0)
}

// degradedFor returns how long the Degraded condition has been True. A rejection has lasted just as long, unless the Echo was already
// degraded before the rejection.
func degradedFor(status *v1.EchoStatus, now time.Time) time.Duration {
	degraded := meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded)
	if degraded == nil || degraded.Status != metav1.ConditionTrue {
		return 0
	}
	return now.Sub(degraded.LastTransitionTime.Time)
}
