package objects

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// companionRestartDelay is the minimum age at which a companion that has terminated is replaced. It prevents a failing companion from being
// replaced in a tight loop.
const companionRestartDelay = time.Minute

// CompanionState is the cluster state that determines what happens to a pod's companion.
type CompanionState struct {
	// Owner is the pod that requests the companion, or nil if the pod is gone or has no companion label.
	Owner *corev1.Pod
	// Echo is the Echo that the owner's label names, or nil if it does not exist.
	Echo *v1.Echo
	// Node is the node that the owner runs on, or nil if there is no such node.
	Node *corev1.Node
	// Companions contains all companions of pods with the owner's name, including the companions of an earlier pod with the same name.
	Companions []corev1.Pod
}

// CompanionPlan specifies what to do about a pod's companion.
type CompanionPlan struct {
	// Remove contains the companions to delete.
	Remove []*corev1.Pod
	// Apply is the companion to create or correct, or nil if there is nothing to apply.
	Apply *Child
	// Existing is the existing companion that Apply corrects, or nil if Apply creates a companion.
	Existing *corev1.Pod
	// Wait is how long to wait before making the next plan if no event arrives earlier. Zero means that only an event requires a new plan.
	Wait time.Duration
	// EchoMissing is true if the Echo that the owner's label names does not exist.
	EchoMissing bool
}

// Plan determines what to do about a pod's companion.
func (c *CompanionState) Plan(config Config, policy Policy, now time.Time) (CompanionPlan, error) {
	wanted := wantsCompanion(c.Owner)
	if !wanted || c.Echo == nil || !c.Echo.DeletionTimestamp.IsZero() {
		return CompanionPlan{Remove: c.others(""), EchoMissing: wanted && c.Echo == nil}, nil
	}
	desired, err := Companion(c.Owner, c.Echo, config)
	if err != nil {
		return CompanionPlan{}, err
	}
	plan := CompanionPlan{Remove: c.others(desired.Key.Name)}
	if c.Owner.Spec.NodeName == "" || !allowsCompanion(c.Echo, desired, policy) || !AcceptsPods(c.Node) {
		return plan, nil
	}
	return c.planOne(plan, desired, now), nil
}

// planOne determines what to do about the single companion that should exist.
func (c *CompanionState) planOne(plan CompanionPlan, desired Child, now time.Time) CompanionPlan {
	existing := c.named(desired.Key.Name)
	switch {
	case existing == nil:
		plan.Apply = &desired
	case !existing.DeletionTimestamp.IsZero(): // an event arrives when the companion is gone
	case HasEnded(existing):
		if plan.Wait = companionRestartDelay - now.Sub(existing.CreationTimestamp.Time); plan.Wait <= 0 {
			plan.Wait, plan.Remove = 0, append(plan.Remove, existing)
		}
	case existing.Annotations[v1.AppliedHashAnnotation] != desired.Desired.GetAnnotations()[v1.AppliedHashAnnotation]:
		plan.Remove = append(plan.Remove, existing) // pods are immutable, and an event arrives when this companion is gone
	case !hasLabels(existing, desired.Desired.GetLabels()):
		plan.Apply, plan.Existing = &desired, existing
	}
	return plan
}

// wantsCompanion reports whether a pod should have a companion. A companion has no companion of its own, to avoid an endless chain of
// companions.
func wantsCompanion(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp.IsZero() && !HasEnded(pod) && !IsCompanion(pod)
}

// allowsCompanion reports whether companions of an Echo may be created and replaced. The Echo must have the finalizer, so that its deletion
// waits for the companions. The policy must allow the Echo, and the Echo must not be paused.
func allowsCompanion(echo *v1.Echo, desired Child, policy Policy) bool {
	return controllerutil.ContainsFinalizer(echo, v1.Finalizer) && !echo.Spec.Paused && policy.Check(echo, desired) == nil
}

// AcceptsPods reports whether the scheduler may place pods on a node. The node is nil if it does not exist.
func AcceptsPods(node *corev1.Node) bool { return node != nil && !node.Spec.Unschedulable }

// others returns the companions that do not have the given name and are not being deleted.
func (c *CompanionState) others(name string) []*corev1.Pod {
	var others []*corev1.Pod
	for i := range c.Companions {
		if pod := &c.Companions[i]; pod.Name != name && pod.DeletionTimestamp.IsZero() {
			others = append(others, pod)
		}
	}
	return others
}

// LacksCompanion reports whether the owner runs on a node and requests a companion that does not exist.
func (c *CompanionState) LacksCompanion() bool {
	return wantsCompanion(c.Owner) && c.Owner.Spec.NodeName != "" && c.named(companionName(c.Owner.Name, c.Owner.UID)) == nil
}

func (c *CompanionState) named(name string) *corev1.Pod {
	for i := range c.Companions {
		if c.Companions[i].Name == name {
			return &c.Companions[i]
		}
	}
	return nil
}

func hasLabels(pod *corev1.Pod, desired map[string]string) bool {
	for key, value := range desired {
		if pod.Labels[key] != value {
			return false
		}
	}
	return true
}
