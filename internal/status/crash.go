package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
)

// maxQuote is the longest part of the last output of a container that a message quotes, in bytes.
const maxQuote = 256

// crashCause returns how a container terminated that should keep running.
func crashCause(pod *corev1.Pod, status *corev1.ContainerStatus, ended *corev1.ContainerStateTerminated) cause {
	message := fmt.Sprintf("Container %q of pod %s terminated with exit code %d", status.Name, pod.Name, ended.ExitCode)
	said := lastLine(ended.Message)
	switch {
	case ended.Reason == "OOMKilled":
		message += " because it exceeded its memory limit: raise spec.resources.limits.memory."
	case said != "":
		message += fmt.Sprintf(". Its last output was %q.", truncate(said, maxQuote))
	default:
		message += fmt.Sprintf(". Run 'kubectl logs --previous -n %s %s -c %s' to see its output.", pod.Namespace, pod.Name, status.Name)
	}
	if secret := certificateProblem(pod, status, said); secret != "" {
		return cause{reason: v1.ReasonPodsCrashing, lasting: isLoop(status), message: fmt.Sprintf(
			"%s Create or correct the Secret %s of type kubernetes.io/tls in the namespace %s, or set spec.tls.secretName to another one.",
			message, secret, pod.Namespace)}
	}
	return cause{reason: v1.ReasonPodsCrashing, message: message}
}

// certificateProblem returns the name of the Secret with the certificate of an echo server that ended because of it, empty if it ended for
// another reason. The echo server names the Secret.
func certificateProblem(pod *corev1.Pod, status *corev1.ContainerStatus, said string) string {
	secret := echopod.TLSSecret(pod)
	if secret == "" || status.Name != echopod.ContainerName || !strings.Contains(said, "Secret") || !strings.Contains(said, secret) {
		return ""
	}
	return secret
}

// isLoop reports whether a container has terminated more than once. The first time, a Secret that is created together with the Echo may
// only have come late: the kubelet adds it to the volume when it starts the container again.
func isLoop(status *corev1.ContainerStatus) bool {
	return status.RestartCount > 1 || status.RestartCount == 1 && status.State.Running == nil
}
