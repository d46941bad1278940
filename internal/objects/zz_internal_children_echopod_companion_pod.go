package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// maxPodName is the maximum length of a pod name that is also a valid host name.
	maxPodName = 63
	// safeToEvict lets the cluster autoscaler remove a node even if a companion runs on it.
	safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

// companionName returns the name of a pod's companion. A pod cannot have two companions, because only one name is possible. The name
// depends on the pod's UID, because pods of a StatefulSet reuse their names.
func companionName(owner string, uid types.UID) string {
	digest := sha256.Sum256([]byte(uid))
	suffix := "-echo-" + hex.EncodeToString(digest[:5])
	owner = owner[:min(len(owner), maxPodName-len(suffix))]
	return strings.TrimRight(owner, "-.") + suffix
}

// IsCompanion reports whether a pod was created as a companion. It checks that the pod's name matches its owner because, unlike labels, the
// name cannot change.
func IsCompanion(pod client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "Pod" && pod.GetName() == companionName(owner.Name, owner.UID)
}

// CompanionOwner returns the name of the pod that a companion belongs to, or an empty string if the pod is not a companion.
func CompanionOwner(pod client.Object) string {
	if !IsCompanion(pod) {
		return ""
	}
	return metav1.GetControllerOfNoCopy(pod).Name
}

// Companion returns the companion of a pod.
func Companion(owner *corev1.Pod, echo *v1.Echo, config Config) (Child, error) {
	c := Child{
		Kind:      "Pod",
		Key:       client.ObjectKey{Namespace: owner.Namespace, Name: companionName(owner.Name, owner.UID)},
		NewObject: func() client.Object { return &corev1.Pod{} },
	}
	configuration := corev1ac.Pod(c.Key.Name, c.Key.Namespace).
		WithAnnotations(echo.Spec.PodAnnotations).
		WithAnnotations(map[string]string{safeToEvict: "true"}).
		WithSpec(companionSpec(owner, echo, config))
	var err error
	if c.Desired, err = WithMetadata(configuration, echo, CompanionLabels(echo),
		CompanionOwnerReference(owner)); err != nil {
		return c, err
	}
	return c, AddDigest(c.Desired)
}

// companionSpec returns the spec of a companion that runs on its owner's node. The companion has no priority class, so that it never
// preempts its owner.
func companionSpec(owner *corev1.Pod, echo *v1.Echo, config Config) *corev1ac.PodSpecApplyConfiguration {
	return podSpec(echo, Container(echo, config)).
		WithNodeSelector(NodeSelector(nil, config.Images.FirstParty(config.Images.Of(echo)))).
		WithAffinity(onNode(owner.Spec.NodeName)).
		WithTolerations(Tolerations(owner.Spec.Tolerations)...)
}

// onNode returns the affinity that makes the scheduler place a pod on the given node if the pod fits. Setting the pod's node name instead
// would bypass the scheduler.
func onNode(name string) *corev1ac.AffinityApplyConfiguration {
	return corev1ac.Affinity().WithNodeAffinity(corev1ac.NodeAffinity().
		WithRequiredDuringSchedulingIgnoredDuringExecution(corev1ac.NodeSelector().
			WithNodeSelectorTerms(corev1ac.NodeSelectorTerm().
				WithMatchFields(corev1ac.NodeSelectorRequirement().
					WithKey(metav1.ObjectNameField).
					WithOperator(corev1.NodeSelectorOpIn).
					WithValues(name)))))
}
