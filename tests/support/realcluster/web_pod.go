package realcluster

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// WebPod returns an application's pod. If an Echo's name is given, the pod requests a companion from that Echo. The pod stops immediately
// on SIGTERM.
func WebPod(namespace, name, echo string) *corev1.Pod {
	labels := map[string]string{"app": "web"}
	if echo != "" {
		labels[v1.CompanionLabel] = echo
	}
	return &corev1.Pod{
		Namespace: namespace, Name: name, Labels: labels,
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{Name: "web", Image: Image("echo-server"), Env: []corev1.EnvVar{{Name: "ECHO_DRAIN_DELAY", Value: "0s"}},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}}},
		},
	}
}
