package objects

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// companionRestartDelay is the minimum age at which a companion that has terminated is replaced. It prevents a failing companion from being
// replaced in a tight loop.
const companionRestartDelay = time.Minute

// CompanionState is the cluster state that determines what happens to a pod's companion.
type CompanionState struct {
	// Owner is the pod that requests the companion, or nil if the pod is gone or has no companion label.
	Owner *LabeledPod
	// Echo is the Echo that the owner's label names, or nil if it does not exist.
	Echo *v1.Echo
	// Node is the node that the owner runs on, or nil if there is no such node.
	Node *corev1.Node
	// Companions contains all companions of pods with the owner's name, including the companions of an earlier pod with the same name.
	Companions []*Pod
}

// CompanionPlan specifies what to do about a pod's companion.
type CompanionPlan struct {
	// Remove contains the companions to delete.
	Remove []*Pod
	// Apply is the companion to create or correct, or nil if there is nothing to apply.
	Apply *Child
	// Existing is the existing companion that Apply corrects, or nil if Apply creates a companion.
	Existing *Pod
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
	existing := c.named(desired.Key.Name)
	switch {
	case c.Owner.NodeName == "" || !AcceptsPods(c.Node):
	case !controllerutil.ContainsFinalizer(c.Echo, v1.Finalizer): // without it, the Echo's deletion would not wait for the companion
	case c.Echo.Spec.Paused || !policy.allows(c.Echo, desired):
	case existing == nil:
		plan.Apply = &desired
	case existing.Deleted: // an event arrives when the companion is gone
	case existing.HasEnded():
		if plan.Wait = companionRestartDelay - now.Sub(existing.CreationTimestamp.Time); plan.Wait <= 0 {
			plan.Wait, plan.Remove = 0, append(plan.Remove, existing)
		}
	case existing.AppliedHash != desired.Desired.GetAnnotations()[v1.AppliedHashAnnotation]:
		plan.Remove = append(plan.Remove, existing) // pods are immutable, and an event arrives when this companion is gone
	case !hasAll(existing.Labels, desired.Desired.GetLabels()):
		plan.Apply, plan.Existing = &desired, existing
	}
	return plan, nil
}

// LacksCompanion reports whether the owner runs on a node and requests a companion that does not exist.
func (c *CompanionState) LacksCompanion() bool {
	return wantsCompanion(c.Owner) && c.Owner.NodeName != "" && c.named(companionName(c.Owner.Name, c.Owner.UID)) == nil
}

// Companion returns the companion of a pod, which runs on the pod's node. It has no priority class, so that it never preempts the pod.
func Companion(owner *LabeledPod, echo *v1.Echo, config Config) (Child, error) {
	c := Child{
		Kind:      "Pod",
		Key:       client.ObjectKey{Namespace: owner.Namespace, Name: companionName(owner.Name, owner.UID)},
		NewObject: func() client.Object { return &corev1.Pod{} },
	}
	// The scheduler places the companion on the node if it fits. Setting the companion's node name would bypass the scheduler.
	onNode := corev1ac.NodeAffinity().WithRequiredDuringSchedulingIgnoredDuringExecution(corev1ac.NodeSelector().
		WithNodeSelectorTerms(corev1ac.NodeSelectorTerm().
			WithMatchFields(corev1ac.NodeSelectorRequirement().
				WithKey(metav1.ObjectNameField).
				WithOperator(corev1.NodeSelectorOpIn).
				WithValues(owner.NodeName))))
	configuration := corev1ac.Pod(c.Key.Name, c.Key.Namespace).
		WithAnnotations(echo.Spec.PodAnnotations).
		WithAnnotations(map[string]string{safeToEvict: "true"}).
		WithSpec(podSpec(echo, container(echo, config)).
			WithNodeSelector(nodeSelector(nil, config.Images.FirstParty(config.Images.Of(echo)))).
			WithAffinity(corev1ac.Affinity().WithNodeAffinity(onNode)).
			WithTolerations(asConfigurations[corev1ac.TolerationApplyConfiguration](owner.Tolerations)...))
	reference := controllerReference(owner.Object(), corev1.SchemeGroupVersion.WithKind("Pod")) // does not delay the owner's deletion
	var err error
	if c.Desired, err = withMetadata(configuration, echo, companionLabels(echo), reference); err != nil {
		return c, err
	}
	return c, addDigest(c.Desired)
}

// wantsCompanion reports whether a pod should have a companion. Companions have none, to avoid an endless chain.
func wantsCompanion(pod *LabeledPod) bool {
	return pod != nil && !pod.Deleted && !pod.HasEnded() && pod.CompanionOf == ""
}

// AcceptsPods reports whether the scheduler may place pods on a node. The node is nil if it does not exist.
func AcceptsPods(node *corev1.Node) bool { return node != nil && !node.Spec.Unschedulable }

// others returns the companions that do not have the given name and are not being deleted.
func (c *CompanionState) others(name string) []*Pod {
	return slices.DeleteFunc(slices.Clone(c.Companions), func(pod *Pod) bool { return pod.Name == name || pod.Deleted })
}

func (c *CompanionState) named(name string) *Pod {
	for _, pod := range c.Companions {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

const (
	// maxPodName is the maximum length of a pod name that is also a valid host name.
	maxPodName = 63
	// safeToEvict lets the cluster autoscaler remove a node even if a companion runs on it.
	safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

// companionName returns the name of a pod's companion. A pod cannot have two companions, because only one name is possible. The name
// depends on the pod's UID, because pods of a StatefulSet reuse their names.
func companionName(owner string, uid types.UID) string {
	suffix := "-echo-" + shortDigest([]byte(uid))[:10]
	owner = owner[:min(len(owner), maxPodName-len(suffix))]
	return strings.TrimRight(owner, "-.") + suffix
}

// CompanionOwner returns the name of the pod that a companion belongs to, or an empty string if the pod is not a companion. It checks that
// the pod's name matches its owner because, unlike labels, the name cannot change.
func CompanionOwner(pod client.Object) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || owner.Kind != "Pod" || pod.GetName() != companionName(owner.Name, owner.UID) {
		return ""
	}
	return owner.Name
}

// SplitPods splits the pods with an Echo's InstanceLabels into the Deployment's pods and the companions. Neither result is nil.
func SplitPods(all []*Pod) (own, companions []*Pod) {
	own, companions = []*Pod{}, []*Pod{}
	for _, pod := range all {
		switch name, component := pod.Labels[LabelName], pod.Labels[LabelComponent]; {
		case name == nameValue && component == componentValue && pod.OfReplicaSet:
			own = append(own, pod)
		case name == companionNameValue && component == companionComponentValue && pod.CompanionOf != "":
			companions = append(companions, pod)
		}
	}
	return own, companions
}
