package status

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// maxNote is the maximum length, in bytes, of an event's note: see k8s.io/kubernetes/pkg/apis/core/validation.
const maxNote = 1024

// These are the actions that several events report.
const (
	actionReconcile       = "Reconcile"
	actionCreateCompanion = "CreateCompanion"
)

// Transition is a change to an Echo, or to a pod that requests a companion. An event reports the change.
type Transition struct {
	Reason v1.Reason
	Action string
	Note   string
	// Related is a second object that the transition concerns, or nil. Transitions that one observation causes and that have the same reason
	// must have different related objects: client-go counts events that differ only in their notes as one event, and drops the later notes.
	Related runtime.Object
}

// EventNote returns the note, truncated to fit in an event.
func (t Transition) EventNote() string { return message.Truncate(t.Note, maxNote) }

// transitions returns the transitions between two statuses of an Echo, given the outcome o that the second status reports.
func transitions(before, after *v1.EchoStatus, o outcome, seen Observation) []Transition {
	news := nodeTransitions(before.NodeProblems, after.NodeProblems, seen.Nodes)
	if o.isNews(before.Conditions) {
		whole := message.Join(o.problem.String(), message.Join(o.notes...), o.counts)
		news = append(news, Transition{Reason: o.event, Action: actionReconcile, Note: cmp.Or(o.eventNote, whole)})
	}
	was := meta.FindStatusCondition(before.Conditions, v1.ConditionDegraded)
	switch wasDegraded := isDegradedByRoutes(was); {
	case o.routes != (cause{}) && (!wasDegraded || was.Reason != o.routes.reason.String()) && o.degradedReason == o.routes.reason:
		news = append(news, Transition{Reason: o.routes.reason, Action: actionReconcile, Note: o.routes.problem.String()})
	case wasDegraded && o.degraded != metav1.ConditionTrue && !o.final && o.routed:
		news = append(news, Transition{Reason: v1.EventRouteAccepted, Action: actionReconcile, Note: "The Echo's Gateways use its routes again."})
	}
	return news
}

// isDegradedByRoutes reports whether a Degraded condition, which may be nil, is True because of the Echo's routes.
func isDegradedByRoutes(degraded *metav1.Condition) bool {
	return degraded != nil && degraded.Status == metav1.ConditionTrue &&
		(degraded.Reason == v1.ReasonRouteNotAccepted.String() || degraded.Reason == v1.ReasonGatewayAPIMissing.String())
}

// nodeTransitions returns the transitions of nodes between two statuses, or none if the reconcile did not read the nodes.
func nodeTransitions(before, after []v1.EchoNodeProblems, nodes map[string]Node) []Transition {
	if nodes == nil {
		return nil
	}
	var news []Transition
	for _, now := range after {
		if !slices.Equal(v1.ProblemsOf(before, now.Name), now.Problems) {
			news = append(news, nodeTransition(v1.ReasonNodeProblem, now.Name, "Node %q, which runs %s of this Echo, has a problem: %s", now.Name,
				plural(nodes[now.Name].Pods, "pod"), describe(nodes[now.Name].Problems)))
		}
	}
	for _, past := range before {
		switch node, runsPods := nodes[past.Name]; {
		case !runsPods:
			news = append(news, nodeTransition(v1.EventNodeRecovered, past.Name, "Node %q no longer runs pods of this Echo.", past.Name))
		case len(node.Problems) == 0:
			news = append(news, nodeTransition(v1.EventNodeRecovered, past.Name, "Node %q has recovered.", past.Name))
		}
	}
	return news
}

func nodeTransition(reason v1.Reason, node, note string, args ...any) Transition {
	return Transition{Reason: reason, Action: "Observe", Note: fmt.Sprintf(note, args...),
		Related: &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node}}
}

// isNews reports whether an event is due for an outcome, given the previous conditions. It is due if the Echo becomes ready, stops being
// ready, or is not ready for a new reason that requires action or is final. It is also due if the same reason later makes the Echo
// degraded, because the first event may have reported a temporary failure, such as a timeout reading a Secret that turns out not to exist.
func (o outcome) isNews(before []metav1.Condition) bool {
	was := cmp.Or(meta.FindStatusCondition(before, v1.ConditionReady), &metav1.Condition{Status: metav1.ConditionUnknown})
	if (was.Status == metav1.ConditionTrue) != (o.ready == metav1.ConditionTrue) {
		return true
	}
	wasDegraded := meta.IsStatusConditionTrue(before, v1.ConditionDegraded) &&
		!isDegradedByRoutes(meta.FindStatusCondition(before, v1.ConditionDegraded))
	degrades := o.degraded == metav1.ConditionTrue && o.degradedReason == o.readyReason && !wasDegraded
	if o.ready == metav1.ConditionTrue || was.Status == o.ready && was.Reason == o.readyReason.String() && !degrades {
		return false
	}
	return o.final || o.readyReason.EventType() == corev1.EventTypeWarning && o.readyReason != v1.ReasonNodeProblem // see nodeTransitions
}

// Written returns the transitions that a write to a child causes. Only writes to the Deployment cause any. was is nil for a new child.
func Written(was, is client.Object) []Transition {
	after, ok := is.(*appsv1.Deployment)
	if !ok {
		return nil
	}
	before, ok := was.(*appsv1.Deployment)
	if !ok {
		return []Transition{{Reason: v1.EventDeployed, Action: "Deploy", Note: fmt.Sprintf(
			"Created a Deployment with %s.", plural(int(*after.Spec.Replicas), "echo server"))}}
	}
	var news []Transition
	if from, to := *before.Spec.Replicas, *after.Spec.Replicas; from != to {
		news = append(news, Transition{Reason: v1.EventScaled, Action: "Scale", Note: fmt.Sprintf(
			"Scaled from %d to %s.", from, plural(int(to), "echo server"))})
	}
	if !equality.Semantic.DeepEqual(before.Spec.Template, after.Spec.Template) {
		news = append(news, Transition{Reason: v1.EventUpdated, Action: "Update", Note: "Updating the echo servers to the new pod template."})
	}
	return news
}

// EchoNotFound returns the transition for a pod whose companion label names a nonexistent Echo.
func EchoNotFound(echo string) Transition {
	return Transition{Reason: v1.EventEchoNotFound, Action: actionCreateCompanion, Note: fmt.Sprintf(
		"Echo %q does not exist in this namespace. Create it, or correct the label %s. The companion is then created automatically.", echo,
		v1.CompanionLabel)}
}

// CompanionNotCreated returns the transition for a pod whose companion cannot be created.
func CompanionNotCreated(err error) Transition {
	problem := Remedy(err)
	if account := missingServiceAccount(err.Error()); account != "" {
		problem.Advice = adviceOnServiceAccount
	}
	return Transition{Reason: v1.EventCompanionNotCreated, Action: actionCreateCompanion, Note: problem.String()}
}

// NotMonitored returns the transition for an Echo whose PodMonitor cannot be applied.
func NotMonitored(err error) Transition {
	return Transition{Reason: v1.EventNotMonitored, Action: actionReconcile, Note: Remedy(err).String()}
}

// plural returns a number and its unit, such as "1 pod" or "2 pods".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
