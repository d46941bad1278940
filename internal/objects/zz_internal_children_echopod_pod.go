package objects

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsEchoPod reports whether a pod with an Echo's labels was created by that Echo's Deployment.
func IsEchoPod(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "ReplicaSet"
}

// OwnersRead returns the parts of a pod's owner references that the operator reads. It keeps complete references for companions, but only
// the kind for other pods, which are more numerous.
func OwnersRead(pod *corev1.Pod) []metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || IsCompanion(pod) {
		return pod.OwnerReferences
	}
	return []metav1.OwnerReference{{Kind: owner.Kind, Controller: owner.Controller}}
}

// SplitPods splits the pods that have an Echo's InstanceLabels into the Deployment's pods and the companions. A result without pods is an
// empty slice, not nil.
func SplitPods(all []corev1.Pod) (own, companions []corev1.Pod) {
	own, companions = []corev1.Pod{}, []corev1.Pod{}
	for i := range all {
		switch pod := &all[i]; {
		case hasPodLabels(pod) && IsEchoPod(pod):
			own = append(own, *pod)
		case hasCompanionLabels(pod) && IsCompanion(pod):
			companions = append(companions, *pod)
		}
	}
	return own, companions
}

// hasPodLabels reports whether a pod has the labels of an Echo's Deployment pods, without checking the InstanceLabels.
func hasPodLabels(pod *corev1.Pod) bool {
	return pod.Labels[LabelName] == NameValue && pod.Labels[LabelComponent] == ComponentValue
}

// hasCompanionLabels reports whether a pod has the labels of companions, without checking the InstanceLabels.
func hasCompanionLabels(pod *corev1.Pod) bool {
	return pod.Labels[LabelName] == CompanionNameValue &&
		pod.Labels[LabelComponent] == CompanionComponentValue
}

// HasEnded reports whether all containers of a pod have terminated and will not be restarted.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
