package controllers

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// maxPodName is the longest name that is also a host name.
	maxPodName = 63
	// safeToEvict tells the cluster autoscaler that a companion keeps no node alive.
	safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"
)

// companionName is the only name that the companion of a pod can have, which is why there are never two. Pods of a StatefulSet
// reuse their names, so the UID counts.
func companionName(owner string, uid types.UID) string {
	digest := sha256.Sum256([]byte(uid))
	suffix := "-echo-" + hex.EncodeToString(digest[:5])
	owner = owner[:min(len(owner), maxPodName-len(suffix))]
	return strings.TrimRight(owner, "-.") + suffix
}

// isCompanion tells whether a pod was made as a companion. Its name and its owner say so, which cannot be changed like a label.
func isCompanion(pod client.Object) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "Pod" && pod.GetName() == companionName(owner.Name, owner.UID)
}

// companion is the pod that is put beside another, as an Echo says.
func companion(owner *corev1.Pod, echo *v1.Echo, images Images) (child, error) {
	c := child{
		kind:  "Pod",
		key:   client.ObjectKey{Namespace: owner.Namespace, Name: companionName(owner.Name, owner.UID)},
		blank: func() client.Object { return &corev1.Pod{} },
	}
	configuration := corev1ac.Pod(c.key.Name, c.key.Namespace).
		WithLabels(companionLabels(echo.Name)).
		WithAnnotations(echo.Spec.PodAnnotations).
		WithAnnotations(map[string]string{safeToEvict: "true"}).
		WithOwnerReferences(besides(owner)).
		WithSpec(companionSpec(owner, echo, images))
	var err error
	c.want, err = sealed(configuration)
	return c, err
}

// companionSpec is that of the Echo's own pods, but for where it runs. It has no priority: it must not push its owner off the node.
func companionSpec(owner *corev1.Pod, echo *v1.Echo, images Images) *corev1ac.PodSpecApplyConfiguration {
	server := container(echo, images)
	server.Env = slices.DeleteFunc(server.Env, func(e corev1ac.EnvVarApplyConfiguration) bool {
		return *e.Name == "SERVICE_NAME" || *e.Name == "INGRESS_NAME" // neither leads to a companion
	})
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(terminationGraceSeconds).
		WithSecurityContext(podSecurity(&echo.Spec)).
		WithAffinity(onNode(owner.Spec.NodeName)).
		WithContainers(server)
	for _, secret := range echo.Spec.ImagePullSecrets {
		spec.WithImagePullSecrets(corev1ac.LocalObjectReference().WithName(secret.Name))
	}
	for i := range owner.Spec.Tolerations {
		spec.WithTolerations(asConfiguration[corev1ac.TolerationApplyConfiguration](&owner.Spec.Tolerations[i]))
	}
	return spec
}

// onNode has the scheduler place a pod on one node, if there is room; to name the node in the pod would pass the scheduler by.
func onNode(name string) *corev1ac.AffinityApplyConfiguration {
	return corev1ac.Affinity().WithNodeAffinity(corev1ac.NodeAffinity().
		WithRequiredDuringSchedulingIgnoredDuringExecution(corev1ac.NodeSelector().
			WithNodeSelectorTerms(corev1ac.NodeSelectorTerm().
				WithMatchFields(corev1ac.NodeSelectorRequirement().
					WithKey(metav1.ObjectNameField).
					WithOperator(corev1.NodeSelectorOpIn).
					WithValues(name)))))
}

// besides makes a pod the controller of its companion. The pod's own deletion waits for nothing.
func besides(owner *corev1.Pod) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion("v1").
		WithKind("Pod").
		WithName(owner.Name).
		WithUID(owner.UID).
		WithController(true).
		WithBlockOwnerDeletion(false)
}
