package support

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// PodWithCompanionLabel returns a pod on node "n" that requests a companion from Echo "x".
func PodWithCompanionLabel(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		Namespace: "ns", Name: "web-0", UID: "u", Labels: map[string]string{v1.CompanionLabel: "x", "app": "web"},
		Spec: corev1.PodSpec{NodeName: "n", Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}}},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// EchoOfCompanions returns the Echo that the pod from PodWithCompanionLabel names.
func EchoOfCompanions(changes ...func(*v1.Echo)) *v1.Echo {
	return Echo("ns", "x", append([]func(*v1.Echo){func(e *v1.Echo) { e.Finalizers = []string{v1.Finalizer} }}, changes...)...)
}
