package controllers

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// failedPodWindow is how much older than the newest pod one that ended may be to count: an eviction long ago explains
// nothing, a row of pods that end as soon as they are made does.
const failedPodWindow = time.Minute

// maxQuote is the longest piece, in bytes, of what a container said last that a message quotes.
const maxQuote = 256

// cause is why pods are missing, as a person can act on it. The zero value stands for none that is known.
type cause struct{ reason, message string }

// causeOf finds out why an Echo's pods are missing: because none can be made, or by the newest pod that shows why it does
// not become ready.
func causeOf(seen observation) cause {
	if c := creationCause(seen.deployment); c != (cause{}) {
		return c
	}
	pods := seen.pods
	for i := range pods {
		if podState(&pods[i]) == podFailed && pods[0].CreationTimestamp.Sub(pods[i].CreationTimestamp.Time) > failedPodWindow {
			continue
		}
		if c := cmp.Or(nodeCause(&pods[i], seen.nodes[pods[i].Spec.NodeName]), podCause(&pods[i])); c != (cause{}) {
			return c
		}
	}
	return cause{}
}

// nodeCause is why a pod is not ready if its node is to blame. That node may not be able to tell how the pod is.
func nodeCause(pod *corev1.Pod, node nodeState) cause {
	if state := podState(pod); state == podReady || state == podTerminating || !keepsPodsDown(node.problems) {
		return cause{}
	}
	return cause{v1.ReasonNodeProblem, fmt.Sprintf("The pod %s is on node %s, which has a problem: %s", pod.Name, pod.Spec.NodeName, say(node.problems))}
}

// creationCause is why the API server takes no more pods.
func creationCause(d *appsv1.Deployment) cause {
	for _, c := range d.Status.Conditions {
		if c.Type != appsv1.DeploymentReplicaFailure || c.Status != corev1.ConditionTrue {
			continue
		}
		if _, quota, found := strings.Cut(c.Message, "exceeded quota: "); found {
			return cause{v1.ReasonQuotaExceeded, fmt.Sprintf(
				"The quota of the namespace is used up (%s). Have it raised, or ask for fewer replicas or resources.", quota)}
		}
		message := c.Message // begins with the name of a pod that there never was
		if _, why, found := strings.Cut(message, " is forbidden: "); found {
			message = why
		}
		return cause{v1.ReasonPodsRefused, "The API server refuses the pods: " + sentence(message)}
	}
	return cause{}
}

// podCause is why a pod does not become ready, as far as it shows.
func podCause(pod *corev1.Pod) cause {
	switch podState(pod) {
	case podReady, podTerminating:
		return cause{}
	case podFailed:
		return cause{v1.ReasonPodFailed, fmt.Sprintf("The pod %s ended: %s", pod.Name, sentence(cmp.Or(pod.Status.Message, pod.Status.Reason, "no reason is given")))}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return cause{v1.ReasonUnschedulable, fmt.Sprintf("The pod %s cannot be scheduled: %s", pod.Name, sentence(c.Message))}
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

// containerCause is why a container does not run, or not for long.
func containerCause(pod *corev1.Pod, status *corev1.ContainerStatus) cause {
	if status.Ready {
		return cause{}
	}
	if waiting := status.State.Waiting; waiting != nil {
		switch waiting.Reason {
		case "ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
			return imageCause(status, waiting.Message)
		case "", "ContainerCreating", "PodInitializing", "CrashLoopBackOff":
		default:
			return cause{v1.ReasonContainerNotStarted, fmt.Sprintf("The container %q of pod %s cannot be started: %s",
				status.Name, pod.Name, sentence(cmp.Or(waiting.Message, waiting.Reason)))}
		}
	}
	for _, ended := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
		if ended != nil && (ended.ExitCode != 0 || status.RestartCount > 0) {
			return crashCause(pod, status.Name, ended)
		}
	}
	return cause{}
}

// imageCause tells why an image cannot be pulled, in the registry's words: while the kubelet waits for its next try it repeats
// the last error, and it puts before it that it asked the container runtime by gRPC.
func imageCause(status *corev1.ContainerStatus, message string) cause {
	for _, before := range []string{"ErrImagePull: ", " desc = "} {
		if _, why, found := strings.Cut(message, before); found {
			message = why
		}
	}
	advice := ""
	if status.Name == containerName {
		advice = " Check spec.image, and spec.imagePullSecrets if its registry asks for credentials."
	}
	return cause{v1.ReasonImagePullFailed, fmt.Sprintf("The image %q cannot be pulled: %s%s", status.Image, sentence(message), advice)}
}

// crashCause tells how a container ended that should not have.
func crashCause(pod *corev1.Pod, container string, ended *corev1.ContainerStateTerminated) cause {
	message := fmt.Sprintf("The container %q of pod %s ended with exit code %d", container, pod.Name, ended.ExitCode)
	switch said := lastLine(ended.Message); {
	case ended.Reason == "OOMKilled":
		message += " because it used more memory than it may: raise spec.resources.limits.memory."
	case said != "":
		message += fmt.Sprintf(" and last said %q.", cut(said, maxQuote))
	default:
		message += fmt.Sprintf("; 'kubectl logs --previous -n %s %s -c %s' shows what it said.", pod.Namespace, pod.Name, container)
	}
	return cause{v1.ReasonPodsCrashing, message}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

// sentence ends a text with a full stop.
func sentence(text string) string { return strings.TrimRight(text, ". \n") + "." }
