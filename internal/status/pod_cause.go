package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/echopod"
)

// maxQuote is the longest part of the last output of a container that a message quotes, in bytes.
const maxQuote = 256

// podCause returns why a pod is not ready, as far as its status shows.
func podCause(pod *corev1.Pod) cause {
	switch PodState(pod) {
	case podReady, podTerminating:
		return cause{}
	case podFailed:
		return cause{reason: v1.ReasonPodFailed, message: fmt.Sprintf("Pod %s has failed: %s",
			pod.Name, Sentence(cmp.Or(pod.Status.Message, pod.Status.Reason, "no reason is given")))}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return cause{reason: v1.ReasonUnschedulable, lasting: lacksNode(c.Message),
				message: fmt.Sprintf("Pod %s cannot be scheduled: %s", pod.Name, Sentence(c.Message))}
		}
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if c := containerCause(pod, &statuses[i]); c != (cause{}) {
				return c
			}
		}
	}
	return cause{}
}

// PodProblem returns why a pod is not ready in a sentence, empty if its status does not say.
func PodProblem(pod *corev1.Pod) string { return podCause(pod).message }

// containerCause returns why a container does not run, or does not keep running.
func containerCause(pod *corev1.Pod, status *corev1.ContainerStatus) cause {
	if status.Ready {
		return cause{}
	}
	if waiting := status.State.Waiting; waiting != nil {
		switch waiting.Reason {
		case "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
			"SignatureValidationFailed":
			return imageCause(status, waiting.Message)
		case "", "ContainerCreating", "PodInitializing", "CrashLoopBackOff":
		default:
			return cause{reason: v1.ReasonContainerNotStarted,
				lasting: waiting.Reason == "CreateContainerConfigError" && !isTemporary(waiting.Message), message: fmt.Sprintf(
					"Container %q of pod %s cannot be started: %s", status.Name, pod.Name, Sentence(cmp.Or(waiting.Message, waiting.Reason)))}
		}
	}
	for _, ended := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
		if ended != nil && (ended.ExitCode != 0 || status.RestartCount > 0) {
			return crashCause(pod, status, ended)
		}
	}
	return cause{}
}

// imageCause returns why an image cannot be pulled, in the words of the registry: the kubelet puts the state of its back-off and of
// its gRPC call before them. Before 1.31 it says only that it waits, without those words, after each attempt.
func imageCause(status *corev1.ContainerStatus, message string) cause {
	for _, before := range []string{"ErrImagePull: ", " desc = "} {
		if _, why, found := strings.Cut(message, before); found {
			message = why
		}
	}
	advice := ""
	if status.Name == echopod.ContainerName {
		advice = " Check spec.image, and spec.imagePullSecrets if the registry requires credentials."
	}
	waits := strings.HasPrefix(message, "Back-off pulling image")
	return cause{reason: v1.ReasonImagePullFailed, unclear: waits, lasting: !waits && !isTemporary(message),
		message: fmt.Sprintf("Image %q cannot be pulled: %s%s", status.Image, Sentence(message), advice)}
}

// isTemporary reports whether what the kubelet says of an image or a container, or the API server of a pod, may go away without an edit: a
// registry, the container runtime or a webhook cannot be reached or is too busy, or a controller has not made what a new namespace or quota
// needs. Neither has another sign for that.
func isTemporary(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc([]string{"timeout", "timed out", "deadline exceeded", "connection refused", "connection reset", "no such host",
		"no route to host", "network is unreachable", "unexpected eof", "toomanyrequests", "too many requests", "internal server error",
		"bad gateway", "service unavailable", "failed calling webhook", "error looking up service account", "status unknown for quota",
		"etcdserver"},
		func(words string) bool { return strings.Contains(message, words) })
}

// lacksNode reports whether the scheduler says that no node fits, and not only that those that fit are full, cordoned or not ready:
// k8s.io/kubernetes/pkg/scheduler.
func lacksNode(message string) bool {
	temporary := slices.ContainsFunc([]string{"Insufficient ", "Too many pods", "were unschedulable", "taint"},
		func(words string) bool { return strings.Contains(message, words) })
	return strings.Contains(message, "no nodes available") || strings.Contains(message, "node affinity/selector") && !temporary
}

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
			"%s Create or correct the Secret %s of type kubernetes.io/tls in the namespace %s, or set spec.tls.secretName to another Secret.",
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
