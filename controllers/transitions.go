package controllers

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// transition is something that happened to an Echo, as an event tells it.
type transition struct{ eventType, reason, action, note string }

// transitions are what happened between two statuses of an Echo, in the pass that saw it.
func transitions(before, after *v1.EchoStatus, seen observation) []transition {
	var news []transition
	for _, c := range seen.changes {
		news = append(news, changed(c)...)
	}
	news = append(news, nodeNews(before.NodeProblems, after.NodeProblems, seen.nodes)...)
	is := meta.FindStatusCondition(after.Conditions, v1.ConditionReady)
	was := meta.FindStatusCondition(before.Conditions, v1.ConditionReady)
	if was == nil {
		was = &metav1.Condition{Status: metav1.ConditionUnknown}
	}
	if was.Status != is.Status || was.Reason != is.Reason {
		news = append(news, turned(was, is)...)
	}
	return news
}

// turned tells what a change of the Ready condition means.
func turned(was, is *metav1.Condition) []transition {
	switch {
	case is.Reason == v1.ReasonDeleting:
		return []transition{{corev1.EventTypeNormal, "DeleteRequested", "Delete", "Deleting the echo servers; waiting for them to drain."}}
	case is.Reason == v1.ReasonInvalidSpec, is.Reason == v1.ReasonNameConflict:
		return []transition{{corev1.EventTypeWarning, is.Reason, "Reconcile", is.Message}}
	case was.Status != metav1.ConditionTrue && is.Status == metav1.ConditionTrue:
		return []transition{{corev1.EventTypeNormal, "Ready", "Reconcile", is.Message}}
	case is.Reason == v1.ReasonRollingOut && was.Status == metav1.ConditionTrue: // as somebody wished
		return []transition{{corev1.EventTypeNormal, "NotReady", "Reconcile", is.Message}}
	case is.Status != metav1.ConditionTrue && (was.Status == metav1.ConditionTrue || asksForSomebody(is.Reason)):
		return []transition{{corev1.EventTypeWarning, "NotReady", "Reconcile", is.Message}}
	default:
		return nil
	}
}

// asksForSomebody tells whether a reason for not being ready will hardly go away by itself.
func asksForSomebody(reason string) bool {
	switch reason {
	case v1.ReasonQuotaExceeded, v1.ReasonPodsRefused, v1.ReasonUnschedulable, v1.ReasonImagePullFailed, v1.ReasonContainerNotStarted,
		v1.ReasonPodsCrashing, v1.ReasonPodFailed, v1.ReasonProgressDeadlineExceeded, v1.ReasonForbidden, v1.ReasonApplyFailed:
		return true
	default:
		return false
	}
}

// changed tells what a change to a child means to the Echo. Only the Deployment's are told: nobody waits for the others.
func changed(c change) []transition {
	after, ok := c.after.(*appsv1.Deployment)
	if !ok {
		return nil
	}
	before, ok := c.before.(*appsv1.Deployment)
	if !ok {
		return []transition{{corev1.EventTypeNormal, "Deployed", "Deploy", fmt.Sprintf("Deployed %d echo servers.", *after.Spec.Replicas)}}
	}
	var news []transition
	if from, to := *before.Spec.Replicas, *after.Spec.Replicas; from != to {
		news = append(news, transition{corev1.EventTypeNormal, "Scaled", "Scale", fmt.Sprintf("Scaled from %d to %d echo servers.", from, to)})
	}
	if !equality.Semantic.DeepEqual(before.Spec.Template, after.Spec.Template) {
		news = append(news, transition{corev1.EventTypeNormal, "Updated", "Update", "Updating the echo servers to what the Echo wants."})
	}
	return news
}

// deleted is the last thing that happens to an Echo.
func deleted() transition {
	return transition{corev1.EventTypeNormal, "Deleted", "Delete", "The last echo server is gone."}
}

// orphaned is the last thing that happens to an Echo whose objects are to stay.
func orphaned() transition {
	return transition{corev1.EventTypeNormal, "Deleted", "Delete", "The Echo goes; what was made for it stays."}
}
