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
func podCause(pod *corev1.Pod) cause {
	switch PodState(pod) {
	case podReady, podTerminating:
		return cause{}
	case podFailed:
		return cause{reason: v1.ReasonPodFailed, problem: message.Problem{Text: fmt.Sprintf("Pod %s has failed", pod.Name),
			Quote: cmp.Or(pod.Status.Message, pod.Status.Reason), Advice: "If it happens again, check the node and spec.resources."}}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return cause{reason: v1.ReasonUnschedulable, lasting: lacksNode(c.Message), problem: message.Problem{
				Text: fmt.Sprintf("Pod %s cannot be scheduled", pod.Name), Quote: withoutPreemption(c.Message),
				Advice: schedulingRemedy(c.Message)}}
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

// withoutPreemption removes the part about preemption from a scheduler's message.
func withoutPreemption(words string) string {
	words, _, _ = strings.Cut(words, " preemption: ")
	return words
}

// PodProblem returns why a pod is not ready, or the zero value if the pod's status does not show the reason.
func PodProblem(pod *corev1.Pod) message.Problem { return podCause(pod).problem }

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
func imageCause(status *corev1.ContainerStatus, words string) cause {
	for _, before := range []string{"ErrImagePull: ", " desc = "} {
		if _, why, found := strings.Cut(words, before); found {
			words = why
		}
	}
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

// isTemporary reports whether a failure may resolve itself without a change to the Echo. For example, a registry or a webhook is
// unreachable or too busy, or a new namespace is not fully set up yet. Only the wording of a message from the kubelet or the API server
// reveals this.
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
func crashCause(pod *corev1.Pod, status *corev1.ContainerStatus, ended *corev1.ContainerStateTerminated) cause {
	said := lastLine(ended.Message)
	c := cause{reason: v1.ReasonPodsCrashing, problem: message.Problem{
		Text:  fmt.Sprintf("Container %s of pod %s terminated with exit code %d", status.Name, pod.Name, ended.ExitCode),
		Quote: said, Advice: crashRemedy(pod, status.Name, ended)}}
	if ended.Reason == "OOMKilled" {
		c.problem.Text, c.problem.Quote = c.problem.Text+" because it exceeded its memory limit", ""
	}
	if secret := certificateProblem(pod, status, said); secret != "" {
		c.lasting = isLoop(status)
		c.problem.Advice = fmt.Sprintf("Create or correct the Secret %s of type kubernetes.io/tls, or change spec.tls.secretName.", secret)
	}
	return c
}

// certificateProblem returns the name of the Secret whose certificate made an echo server terminate, or an empty string if the server
// terminated for another reason. The echo server's message names the Secret.
func certificateProblem(pod *corev1.Pod, status *corev1.ContainerStatus, said string) string {
	secret := objects.TLSSecret(pod)
	if secret == "" || status.Name != objects.ContainerName || !strings.Contains(said, "Secret") || !strings.Contains(said, secret) {
		return ""
	}
	return secret
}

// isLoop reports whether a container has terminated more than once. The first termination does not count, because a Secret that is created
// together with the Echo may arrive late. The kubelet adds the Secret to the volume when it restarts the container.
func isLoop(status *corev1.ContainerStatus) bool {
	return status.RestartCount > 1 || status.RestartCount == 1 && status.State.Running == nil
}

// lastLine returns the last nonempty line of a string.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

// rule is the advice for a message that contains certain words.
type rule struct{ words, advice string }

// first returns the advice of the first rule whose words occur in a message, or the given fallback if no rule matches.
func first(message string, rules []rule, otherwise string) string {
	for _, r := range rules {
		if strings.Contains(message, r.words) {
			return r.advice
		}
	}
	return otherwise
}

// Scheduling returns what to do if the scheduler finds no node for a pod. The messages come from
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

// Creation returns what to do if the API server rejects an Echo's pods. The admission plugins that reject pods are in
// k8s.io/pod-security-admission and k8s.io/kubernetes/plugin/pkg/admission. On OpenShift, security context constraints can also reject
// pods.
func creationRemedy(message string) string {
	return first(message, []rule{
		{"violates PodSecurity", "Change spec.podSecurityContext and spec.securityContext, or relax the namespace's Pod Security Standard."},
		{"security context constraint", "Allow the ServiceAccount to use a suitable SecurityContextConstraints, or change spec.securityContext."},
		{"per Container", limitRange}, {"per Pod", limitRange},
		{"PriorityClass", "Create the PriorityClass, or change spec.priorityClassName."},
		{webhookFailed, webhookAdvice + "Kubernetes retries automatically."},
		{"status unknown for quota", "Wait until Kubernetes has computed the quota's usage. It retries automatically."},
		{"denied", policy},
	}, "Change the Echo accordingly, or ask a cluster administrator.")
}

const (
	// webhookFailed is the API server's message about a webhook that it cannot call, and webhookAdvice is the beginning of the advice for
	// it.
	webhookFailed, webhookAdvice = "failed calling webhook", "Check that the webhook's Service is available. "
	// limitRange is the advice for a rejection by the admission plugin k8s.io/kubernetes/plugin/pkg/admission/limitranger.
	limitRange = "Change spec.resources to fit the namespace's LimitRange."
	// policy is the advice for a denial by a webhook or a policy.
	policy = "Change the Echo as the policy requires, or ask the policy's administrator for an exception."
)

// Container returns what to do if the kubelet cannot start an Echo's container. The messages come from
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

// Crash returns what to do if an Echo's container has terminated.
func crashRemedy(pod *corev1.Pod, container string, ended *corev1.ContainerStateTerminated) string {
	logs := fmt.Sprintf("Run 'kubectl logs --previous -n %s %s -c %s' to see why.", pod.Namespace, pod.Name, container)
	switch {
	case ended.Reason == "OOMKilled":
		return "Raise spec.resources.limits.memory."
	case slices.Contains([]int32{0, 137, 143}, ended.ExitCode): // the kubelet sends SIGTERM and SIGKILL when a probe fails
		return "If its probe fails, make it listen on spec.port. " + logs
	case container == objects.ContainerName:
		return "Check spec.args and spec.env. " + logs
	default:
		return logs
	}
}
