package status

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/echo-operator/echo-operator/internal/objects"
)

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
