package controllers

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// companionRest is how long a companion that ended by itself stays before it is made anew: what ended it may end the next one.
const companionRest = time.Minute

// companionView is what a pass sees around a pod that asks for a companion, or did.
type companionView struct {
	owner      *corev1.Pod // nil: gone, or without the label
	echo       *v1.Echo    // nil: there is none
	node       *corev1.Node
	companions []corev1.Pod // made for pods of the owner's name, this one or one before it
}

// companionPlan is what is to be done.
type companionPlan struct {
	remove []*corev1.Pod
	make   *child
	// there is the object that make corrects, if there is one.
	there *corev1.Pod
	// wait is when to look again, zero if only an event calls for that.
	wait time.Duration
	// news is what the owner is told, nil if all is well.
	news *transition
}

// plan decides about the companion of a pod.
func (v *companionView) plan(images Images, maxReplicas int32, now time.Time) (companionPlan, error) {
	if !asksForCompanion(v.owner) {
		return companionPlan{remove: v.others("")}, nil
	}
	if v.echo == nil {
		return companionPlan{remove: v.others(""), news: echoNotFound(v.owner)}, nil
	}
	if !v.echo.DeletionTimestamp.IsZero() {
		return companionPlan{remove: v.others("")}, nil
	}
	wanted, err := companion(v.owner, v.echo, images)
	if err != nil {
		return companionPlan{}, err
	}
	plan := companionPlan{remove: v.others(wanted.key.Name)}
	if v.owner.Spec.NodeName == "" || !carriesCompanions(v.echo, maxReplicas) || !takesPods(v.node) {
		return plan, nil
	}
	return v.planOne(plan, wanted, now), nil
}

// planOne decides about the one companion that there should be.
func (v *companionView) planOne(plan companionPlan, wanted child, now time.Time) companionPlan {
	there := v.named(wanted.key.Name)
	switch {
	case there == nil:
		plan.make = &wanted
	case !there.DeletionTimestamp.IsZero(): // its end wakes the operator
	case hasEnded(there):
		if plan.wait = companionRest - now.Sub(there.CreationTimestamp.Time); plan.wait <= 0 {
			plan.wait, plan.remove = 0, append(plan.remove, there)
		}
	case there.Annotations[v1.AppliedHashAnnotation] != wanted.want.GetAnnotations()[v1.AppliedHashAnnotation]:
		plan.remove = append(plan.remove, there) // a pod cannot be changed; its end wakes the operator
	case !hasLabels(there, wanted.want.GetLabels()):
		plan.make, plan.there = &wanted, there
	}
	return plan
}

// asksForCompanion tells whether a pod should have one. The companion of a companion would have one, too.
func asksForCompanion(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp.IsZero() && !hasEnded(pod) && !isCompanion(pod)
}

func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// carriesCompanions tells whether companions of an Echo are made and replaced: not before the Echo would wait for their end, and
// not while it changes nothing else either.
func carriesCompanions(echo *v1.Echo, maxReplicas int32) bool {
	return controllerutil.ContainsFinalizer(echo, v1.Finalizer) && !echo.Spec.Paused && allowed(echo, maxReplicas) == nil
}

// others are the companions but one, without those that are going.
func (v *companionView) others(name string) []*corev1.Pod {
	var others []*corev1.Pod
	for i := range v.companions {
		if c := &v.companions[i]; c.Name != name && c.DeletionTimestamp.IsZero() {
			others = append(others, c)
		}
	}
	return others
}

func (v *companionView) named(name string) *corev1.Pod {
	for i := range v.companions {
		if v.companions[i].Name == name {
			return &v.companions[i]
		}
	}
	return nil
}

func hasLabels(pod *corev1.Pod, wanted map[string]string) bool {
	for key, value := range wanted {
		if pod.Labels[key] != value {
			return false
		}
	}
	return true
}

func echoNotFound(owner *corev1.Pod) *transition {
	return &transition{corev1.EventTypeWarning, "EchoNotFound", "MakeCompanion", fmt.Sprintf(
		"There is no Echo %q in this namespace. The companion that the label %s asks for is made as soon as there is.",
		owner.Labels[v1.CompanionLabel], v1.CompanionLabel)}
}

// countLive counts the companions that run, or will.
func countLive(companions []corev1.Pod) int32 {
	live := int32(0)
	for i := range companions {
		if companions[i].DeletionTimestamp.IsZero() && !hasEnded(&companions[i]) {
			live++
		}
	}
	return live
}
