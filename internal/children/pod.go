package children

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// InstanceLabels returns the labels by which the pods and companions of an Echo are listed together. Pods of others may have them,
// too: what else tells them apart is in HasPodLabels, HasCompanionLabels, IsEchoPod and IsCompanion.
func InstanceLabels(echo *v1.Echo) map[string]string {
	return map[string]string{labelInstance: echo.Name, labelManagedBy: FieldOwner}
}

// EchoOf returns the name of the Echo that a pod or companion belongs to by its labels, empty if none.
func EchoOf(pod client.Object) string { return pod.GetLabels()[labelInstance] }

// IsEchoPod reports whether a pod with the labels of an Echo was created by its Deployment.
func IsEchoPod(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "ReplicaSet"
}

// HasPodLabels reports whether a pod has the labels of the pods of Deployments, apart from the InstanceLabels.
func HasPodLabels(pod *corev1.Pod) bool {
	return pod.Labels[labelName] == nameValue && pod.Labels[labelComponent] == componentValue
}

// HasCompanionLabels reports whether a pod has the labels of companions, apart from the InstanceLabels.
func HasCompanionLabels(pod *corev1.Pod) bool {
	return pod.Labels[labelName] == companionNameValue && pod.Labels[labelComponent] == companionComponentValue
}

// HasEnded reports whether all containers of a pod have terminated and will not be restarted.
func HasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
