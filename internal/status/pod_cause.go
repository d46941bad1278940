package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// podCause returns why a pod is not ready, if the pod's status shows the reason.
func podCause(pod *objects.Pod) cause {
	switch PodState(pod) {
	case podReady, podTerminating:
		return cause{}
	case podFailed:
		return cause{reason: v1.ReasonPodFailed, problem: message.Problem{Text: fmt.Sprintf("Pod %s has failed", pod.Name),
			Quote: cmp.Or(pod.Message, pod.Reason), Advice: "If it happens again, check the node and spec.resources."}}
	}
	if said := pod.Unschedulable; said != "" {
		why, _, _ := strings.Cut(said, " preemption: ")
		return cause{reason: v1.ReasonUnschedulable, lasting: lacksNode(said), problem: message.Problem{
			Text: fmt.Sprintf("Pod %s cannot be scheduled", pod.Name), Quote: why, Advice: schedulingRemedy(said)}}
	}
	for i := range pod.Containers {
		if c := containerCause(pod, &pod.Containers[i]); c != (cause{}) {
			return c
		}
	}
	return cause{}
}

// containerCause returns why a container does not run, or does not keep running.
func containerCause(pod *objects.Pod, status *objects.Container) cause {
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
			words := cmp.Or(waiting.Message, waiting.Reason)
			return cause{reason: v1.ReasonContainerNotStarted,
				lasting: waiting.Reason == "CreateContainerConfigError" && !isTemporary(words), problem: message.Problem{
					Text: fmt.Sprintf("Container %s of pod %s cannot be started", status.Name, pod.Name), Quote: words,
					Advice: containerRemedy(words)}}
		}
	}
	for _, ended := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
		if ended != nil && (ended.ExitCode != 0 || status.RestartCount > 0) {
			return crashCause(pod, status, ended)
		}
	}
	return cause{}
}

// imageCause returns why an image cannot be pulled, in the registry's words. The kubelet prefixes these words with the state of its
// back-off and the state of its gRPC call. Before Kubernetes 1.31, the kubelet drops the registry's words after each attempt and then
// reports only the back-off.
func imageCause(status *objects.Container, words string) cause {
	words = after(" desc = ", after("ErrImagePull: ", words))
	for strings.HasPrefix(words, "failed to ") { // containerd repeats the image name each time it wraps the error
		_, why, found := strings.Cut(words, `": `)
		if !found {
			break
		}
		words = why
	}
	advice := "Check the image of this container, which another client added to the pods."
	switch status.Name {
	case objects.ContainerName:
		advice = "Check spec.image, and spec.imagePullSecrets if the registry requires credentials."
	case objects.CheckContainer:
		advice = "Ask an administrator to check the operator's RELATED_IMAGE_PATHCHECK, or set spec.imagePullSecrets."
	}
	waits := strings.HasPrefix(words, "Back-off pulling image")
	return cause{reason: v1.ReasonImagePullFailed, unclear: waits, lasting: !waits && !isTemporary(words), problem: message.Problem{
		Text: fmt.Sprintf("Image %s cannot be pulled", status.Image), Quote: words, Advice: advice}}
}

// isTemporary reports whether a failure may end without a change to the Echo. For example, a registry or webhook is unreachable or too
// busy, or a new namespace is not fully set up yet. Only the wording of a message from the kubelet or the API server reveals this.
func isTemporary(words string) bool {
	words = strings.ToLower(words)
	return slices.ContainsFunc([]string{"timeout", "timed out", "deadline exceeded", "connection refused", "connection reset", "no such host",
		"no route to host", "network is unreachable", "unexpected eof", "toomanyrequests", "too many requests", "internal server error",
		"bad gateway", "service unavailable", "failed calling webhook", "error looking up service account", "status unknown for quota",
		"etcdserver"},
		func(sign string) bool { return strings.Contains(words, sign) })
}

// lacksNode reports whether no node fits a pod, according to a message from the scheduler (k8s.io/kubernetes/pkg/scheduler). It returns
// false if suitable nodes exist but are full, cordoned, or not ready.
func lacksNode(said string) bool {
	temporary := slices.ContainsFunc([]string{"Insufficient ", "Too many pods", "were unschedulable", "taint"},
		func(words string) bool { return strings.Contains(said, words) })
	return strings.Contains(said, "no nodes available") || strings.Contains(said, "node affinity/selector") && !temporary
}

// crashCause returns the cause for a container that terminated although it should keep running.
func crashCause(pod *objects.Pod, status *objects.Container, ended *corev1.ContainerStateTerminated) cause {
	said := strings.TrimSpace(ended.Message)
	said = said[strings.LastIndex(said, "\n")+1:]
	logs := fmt.Sprintf("Run 'kubectl logs --previous -n %s %s -c %s' to see why.", pod.Namespace, pod.Name, status.Name)
	c := cause{reason: v1.ReasonPodsCrashing, problem: message.Problem{
		Text:  fmt.Sprintf("Container %s of pod %s terminated with exit code %d", status.Name, pod.Name, ended.ExitCode),
		Quote: said, Advice: logs}}
	switch {
	case ended.Reason == "OOMKilled":
		c.problem = message.Problem{Text: c.problem.Text + " because it exceeded its memory limit", Advice: "Raise spec.resources.limits.memory."}
	case slices.Contains([]int32{0, 137, 143}, ended.ExitCode): // the kubelet sends SIGTERM and SIGKILL when a probe fails
		c.problem.Advice = "If its probe fails, make it listen on spec.port. " + logs
	case status.Name == objects.ContainerName:
		c.problem.Advice = "Check spec.args and spec.env. " + logs
	}
	// If the certificate made an echo server terminate, the server's message names the Secret.
	secret := pod.TLSSecret
	if secret != "" && status.Name == objects.ContainerName && strings.Contains(said, "Secret") && strings.Contains(said, secret) {
		c.problem.Advice = fmt.Sprintf("Create or correct the Secret %s of type kubernetes.io/tls, or change spec.tls.secretName.", secret)
		// The first termination does not count, because a Secret that is created together with the Echo may arrive late. The kubelet adds the
		// Secret to the volume when it restarts the container.
		c.lasting = status.RestartCount > 1 || status.RestartCount == 1 && status.State.Running == nil
	}
	return c
}

// schedulingRemedy returns what to do if the scheduler finds no node for a pod. The messages come from
// k8s.io/kubernetes/pkg/scheduler/framework/plugins.
func schedulingRemedy(message string) string {
	return first(message, []rule{
		{"no nodes available", "Add a node to the cluster."},
		{"Insufficient ", "Lower spec.resources.requests, request fewer replicas, or add nodes."},
		{"Too many pods", "Request fewer replicas, or add nodes."},
		{"node affinity/selector", "Change spec.nodeSelector or spec.affinity, or label a node accordingly."},
		{"anti-affinity", "Relax spec.affinity, or add nodes."},
		{"pod affinity", "Change spec.affinity, or create the pods that it requires."},
		{"topology spread", "Relax spec.topologySpreadConstraints, or add nodes."},
		{"untolerated taint", "Add the taint to spec.tolerations, or remove it from a node."},
		{"were unschedulable", "Run 'kubectl uncordon' for a node."},
	}, "Check spec.nodeSelector, spec.tolerations, spec.affinity, and spec.resources.requests.")
}

// containerRemedy returns what to do if the kubelet cannot start an Echo's container. The messages come from
// k8s.io/kubernetes/pkg/kubelet/kuberuntime.
func containerRemedy(message string) string {
	return first(message, []rule{
		{"failed to sync ", "Kubernetes retries automatically. If the problem lasts, check the node's connection to the API server."},
		{"couldn't find key", "Add the key to the Secret or ConfigMap, or change spec.env."},
		{"secret ", "Create the Secret, or change spec.env."},
		{"configmap ", "Create the ConfigMap, or change spec.env."},
		{"runAsNonRoot", "Set spec.securityContext.runAsUser to the ID of a non-root user in the image, or use an image that does not run as root."},
		{"executable file not found", "Correct spec.args, or use an image that contains the program."},
	}, "Check spec.image, spec.args, and spec.env.")
}
