package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/desired"
)

// verdict is what a reconcile means: the conditions, the phase and the message.
type verdict struct {
	ready, progressing, degraded                   metav1.ConditionStatus
	readyReason, progressingReason, degradedReason v1.Reason
	message                                        string
	phase                                          string
	// stalls says when the Echo becomes stalled if it is degraded and not ready.
	stalls stalls
	// event is the reason of the event that reports the verdict.
	event v1.Reason
	// eventNote is the note of that event, empty for the message.
	eventNote string
	// routes is why Gateways do not send requests to the Echo, if they do not. routed is true if they do.
	routes cause
	routed bool
	// final is true if the Echo does not leave this state, so that it is always reported.
	final bool
}

// judge decides what a reconcile means.
func judge(echo *v1.Echo, seen Observation, failure *Failure, now time.Time) verdict {
	switch {
	case failure != nil:
		return failedVerdict(seen, failure)
	case echo.Spec.Paused:
		return pausedVerdict(&echo.Status, seen, now)
	default:
		pods := availabilityOf(seen.Deployment, echo.Spec.DesiredReplicas(), &echo.Status, now)
		return podsVerdict(pods, causesOf(echo, seen, pods, now))
	}
}

// causes are what a verdict depends on besides the counts of pods.
type causes struct {
	// pods is why pods are missing, routes why Gateways do not send requests. Each is zero if it is unknown or if there is nothing wrong.
	pods, routes cause
	// routed is true if Gateways send requests.
	routed bool
	// gatewayNote is why the URL of a Gateway is not known, empty if it is.
	gatewayNote string
	// policyNote is what the NetworkPolicy drops although the spec leads it in, empty if there is no such traffic.
	policyNote string
	// noRoute is why OpenShift creates no Route, empty if it creates one or if there are no Routes.
	noRoute string
}

// causesOf returns the causes of what is seen of an Echo.
func causesOf(echo *v1.Echo, seen Observation, pods availability, now time.Time) causes {
	c := causes{pods: podsCause(&echo.Status, seen, pods), routes: routeCause(echo, seen, now), policyNote: policyNote(echo),
		noRoute: seen.NoRoute}
	c.routed = c.routes == (cause{}) && children.HasGateway(echo)
	if children.HasGateway(echo) && seen.GatewaysRefused != "" {
		c.gatewayNote = "The URL of the Gateway is unknown: " + Sentence(seen.GatewaysRefused)
	}
	return c
}

// policyNote returns what the NetworkPolicy of an Echo drops although the spec leads it in, and what to change.
func policyNote(echo *v1.Echo) string {
	dropped := desired.DroppedTraffic(echo)
	if len(dropped) == 0 {
		return ""
	}
	return fmt.Sprintf("The NetworkPolicy drops traffic from %s. Add a namespaceSelector or an ipBlock for it to spec.networkPolicy.from.",
		strings.Join(dropped, " and "))
}

// podsCause returns why pods are missing, zero if none are.
func podsCause(before *v1.EchoStatus, seen Observation, pods availability) cause {
	if pods.ready {
		return cause{}
	}
	return causeOf(seen).resolveFrom(before)
}

// podsVerdict returns the verdict of a reconcile that succeeded. Whether an Echo is ready depends on its pods alone.
func podsVerdict(pods availability, why causes) verdict {
	v := verdict{
		routes:  why.routes,
		routed:  why.routed,
		message: sentences(why.pods.message, why.routes.message, why.gatewayNote, why.policyNote, why.noRoute, pods.summary()),
		phase:   pods.phase(why),
	}
	v.ready, v.readyReason, v.event = pods.readiness(why.pods)
	v.progressing, v.progressingReason = pods.progress()
	v.degraded, v.degradedReason = pods.degradation(why)
	v.stalls = why.pods.stalls()
	return v
}

// sentences joins the texts that are not empty.
func sentences(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), " ")
}

// failedVerdict returns the verdict of a reconcile that failed.
func failedVerdict(seen Observation, failure *Failure) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: failure.Reason,
		progressing: metav1.ConditionFalse, progressingReason: failure.Reason,
		degraded: metav1.ConditionTrue, degradedReason: failure.Reason,
		stalls:  failure.stalls(),
		message: failure.Err.Error(),
		phase:   v1.PhaseFailed,
		event:   failure.Reason,
	}
	if failure.Advice != "" {
		v.message = Sentence(v.message) + " " + failure.Advice
	}
	if failure.Transient {
		v.phase, v.event = v1.PhaseWarning, v1.EventNotReady
		if seen.Deployment == nil { // what could not be read is unknown
			v.ready = metav1.ConditionUnknown
		}
	}
	return v
}

// pausedVerdict returns the verdict on a paused Echo. Its objects are left unchanged, and are measured by their own spec.
func pausedVerdict(before *v1.EchoStatus, seen Observation, now time.Time) verdict {
	const paused = "The Echo is paused: changes are not applied."
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonPaused, event: v1.EventNotReady,
		progressing: metav1.ConditionFalse, progressingReason: v1.ReasonPaused,
	}
	d := seen.Deployment
	if d == nil {
		v.degraded, v.degradedReason = metav1.ConditionFalse, v1.ReasonAsExpected
		v.message, v.phase = sentences(paused, "It has no Deployment."), v1.PhasePending
		return v
	}
	pods := availabilityOf(d, *d.Spec.Replicas, before, now)
	pods.progressing, pods.overdue = false, false // no one waits for what is paused
	why := causes{pods: podsCause(before, seen, pods)}
	if pods.ready || why.pods != (cause{}) {
		v.ready, v.readyReason, v.event = pods.readiness(why.pods)
	}
	v.degraded, v.degradedReason = pods.degradation(why)
	v.stalls = why.pods.stalls()
	v.message, v.phase = sentences(paused, why.pods.message, pods.summary()), pods.phase(why)
	return v
}

// deletingVerdict returns the verdict on an Echo that is being deleted. failure is why that does not go on, nil if it does.
func deletingVerdict(failure *Failure) verdict {
	v := verdict{
		ready: metav1.ConditionFalse, readyReason: v1.ReasonDeleting,
		progressing: metav1.ConditionTrue, progressingReason: v1.ReasonDeleting,
		degraded: metav1.ConditionFalse, degradedReason: v1.ReasonDeleting,
		message:   "The Echo is being deleted. Its pods are draining connections.",
		phase:     v1.PhaseTerminating,
		event:     v1.EventDeleteRequested,
		eventNote: "Deleting the echo servers and waiting for them to drain connections.",
		final:     true,
	}
	if failure != nil {
		v.degraded, v.degradedReason = metav1.ConditionTrue, failure.Reason
		v.message = "The Echo is being deleted, but some of its objects cannot be deleted: " + failure.Err.Error()
	}
	return v
}
