// Package status determines the outcome of reconciling an Echo: the Echo's status, its events, and how to handle an error.
//
// The functions in this package are pure: they compute their results from the reconcile's observations, and send no requests.
package status

import (
	"cmp"
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
}

// Evaluate returns the report on a reconcile of an Echo. If the reconcile succeeded, failure is nil. A silent failure leaves the status
// unchanged and reports no transitions.
func Evaluate(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) Report {
	if failure.Silent() {
		return Report{Status: echo.Status}
	}
	status := measure(echo, seen, failure)
	v := judge(echo, seen, failure, now)
	record(status, v, echo.Generation, now)
	return Report{
		Status:      *status,
		Transitions: transitions(&echo.Status, status, v, seen),
		Next:        next(echo, status, v, seen, failure, now),
	}
}

// next returns the time until the next reconcile of an Echo if no event arrives, or zero if only an event can change the Echo's status.
// During a failure, the progress deadline is ignored, because the status reports only the failure.
func next(echo *v1.Echo, status *v1.EchoStatus, v outcome, seen Observation, failure *Failure, now time.Time) time.Duration {
	look := Earliest(untilNextLook(echo, seen, failure), seen.CorrectedAfter)
	switch {
	case failure.IsRefused():
		return Earliest(look, v.untilRetry(status, now))
	case failure != nil:
		return look
	default:
		overdue := Earliest(untilOverdue(status, seen.Deployment, now), untilRouteOverdue(echo, seen, now))
		return Earliest(overdue, Earliest(look, v.untilStalled(status, now)))
	}
}

// untilNextLook returns the time until the operator next checks children that it does not watch, because they lost their label. The time is
// zero if there are none. A reconcile restores the label, unless the Echo is paused or cannot be applied.
func untilNextLook(echo *v1.Echo, seen Observation, failure *Failure) time.Duration {
	if seen.Unwatched && (echo.Spec.Paused || failure != nil) {
		return LookPeriod
	}
	return 0
}

// EvaluateDeletion returns the report on a reconcile of an Echo that is being deleted. If the reconcile succeeded, failure is nil. A silent
// failure leaves the status unchanged and reports no transitions.
func EvaluateDeletion(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) Report {
	if failure.Silent() {
		return Report{Status: echo.Status}
	}
	status, v := echo.Status.DeepCopy(), deletingVerdict(seen.Held, failure, now)
	status.ObservedGeneration = echo.Generation
	measureObjects(status, seen)
	record(status, v, echo.Generation, now)
	return Report{Status: *status, Transitions: transitions(&echo.Status, status, v, Observation{})}
}

// record writes a verdict to a status. A condition keeps its transition time while its status stays the same.
func record(status *v1.EchoStatus, v outcome, generation int64, now time.Time) {
	status.Phase, status.Message = v.phase, v.shortMessage()
	set := func(kind string, value metav1.ConditionStatus, reason v1.Reason, text string) {
		SetCondition(status, metav1.Condition{
			Type: kind, Status: value, Reason: reason.String(), Message: message.Truncate(text, message.MaxCondition),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
		})
	}
	set(v1.ConditionReady, v.ready, v.readyReason, v.readyMessage())
	set(v1.ConditionProgressing, v.progressing, v.progressingReason, v.rollout)
	set(v1.ConditionDegraded, v.degraded, v.degradedReason, v.degradedMessage())
	if v.isStalled(status, now) { // kstatus shows only this condition's message
		set(v1.ConditionStalled, metav1.ConditionTrue, v.readyReason, v.problem.String())
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1.ConditionStalled)
	}
}

// SetCondition sets a condition. It keeps the conditions in a fixed order, whichever was set first. The console shows the conditions in this
// order.
func SetCondition(status *v1.EchoStatus, condition metav1.Condition) {
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
// values. The external URL also keeps its value until the spec is applied.
func measure(echo *v1.Echo, seen Observation, failure *Failure) *v1.EchoStatus {
	status := echo.Status.DeepCopy()
	status.ObservedGeneration = echo.Generation
	status.Selector = labels.SelectorFromSet(objects.SelectorLabels(echo)).String()
	measureObjects(status, seen)
	if seen.Service != nil { // the Service works regardless of other failures
		status.URL = cmp.Or(objects.LiveURL(echo, seen.Service), status.URL)
	}
	if failure == nil && !echo.Spec.Paused {
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

// measureObjects records in a status which objects of an Echo exist.
func measureObjects(status *v1.EchoStatus, seen Observation) {
	measureDeployment(status, seen)
	if seen.Pods != nil {
		status.Pods = podStates(seen.Pods)
	}
	if seen.Companions != nil {
		status.Companions = countLive(seen.Companions)
	}
}

// measureDeployment records a Deployment's replica counts and its image in a status.
func measureDeployment(status *v1.EchoStatus, seen Observation) {
	d := seen.Deployment
	if d == nil && !seen.NoDeployment {
		return
	}
	if d == nil {
		d = &appsv1.Deployment{}
	}
	status.Replicas = d.Status.Replicas
	status.ReadyReplicas = d.Status.ReadyReplicas
	status.UpdatedReplicas = d.Status.UpdatedReplicas
	status.Image = ""
	for _, container := range d.Spec.Template.Spec.Containers {
		if container.Name == objects.ContainerName {
			status.Image = container.Image
		}
	}
}

// Observation records what a reconcile observed and changed. It is valid even if the reconcile failed. A nil object is unknown or does not
// exist.
type Observation struct {
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	Ingress    *networkingv1.Ingress
	// NoDeployment is true if the Deployment is known to be missing and the reconcile did not create it.
	NoDeployment bool
	// Unwatched is true if a child lost the label that the watches filter by. The operator then receives no events for the child.
	Unwatched bool
	// Pods are the pods of the Deployment, newest first.
	Pods       []corev1.Pod
	Companions []corev1.Pod
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
	// Held is an object of a deleted Echo without pods that another controller keeps. It is nil if there is no such object.
	Held *Held
}

// Held is an object that is being deleted, but has another controller's finalizer.
type Held struct {
	Kind, Finalizer string
	Object          client.Object
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

// routes returns the existing routes of an Echo.
func (o *Observation) routes() []client.Object {
	var routes []client.Object
	if o.HTTPRoute != nil {
		routes = append(routes, o.HTTPRoute)
	}
	if o.GRPCRoute != nil {
		routes = append(routes, o.GRPCRoute)
	}
	return routes
}
