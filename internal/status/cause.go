package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/internal/status/remedy"
)

// failedPodWindow is how much older than the newest pod a failed pod may be to count: an eviction long ago explains nothing, a
// series of pods that fail at once does.
const failedPodWindow = time.Minute

// cause is why pods are missing, and what to do about it. The zero value means that the cause is unknown.
type cause struct {
	reason  v1.Reason
	problem message.Problem
	// warning is true if the phase is Warning, although a change is being rolled out.
	warning bool
	// lasting is true if the cause does not go away until a user acts. The Echo is degraded then.
	lasting bool
	// unclear is true if only the status before shows whether it lasts.
	unclear bool
}

// resolveFrom returns the cause with what the status before shows of it.
func (c cause) resolveFrom(before *v1.EchoStatus) cause {
	if c.unclear {
		degraded := meta.FindStatusCondition(before.Conditions, v1.ConditionDegraded)
		c.lasting = degraded != nil && degraded.Status == metav1.ConditionTrue && degraded.Reason == c.reason.String()
	}
	return c
}

// causeOf returns why pods are missing: because the rollout is paused, because none can be created, or because of what the newest pod that
// is not ready shows.
func causeOf(seen Observation) cause {
	if c := cmp.Or(pauseCause(seen.Deployment), creationCause(seen.Deployment)); c != (cause{}) {
		return c
	}
	pods := seen.Pods
	for i := range pods {
		if PodState(&pods[i]) == podFailed && pods[0].CreationTimestamp.Sub(pods[i].CreationTimestamp.Time) > failedPodWindow {
			continue
		}
		if c := cmp.Or(nodeCause(&pods[i], seen.Nodes[pods[i].Spec.NodeName]), podCause(&pods[i])); c != (cause{}) {
			return c
		}
	}
	return cause{}
}

// nodeCause returns why a pod is not ready if its node is the cause. A rollout does not hide it, because it needs attention.
func nodeCause(pod *corev1.Pod, node Node) cause {
	if state := PodState(pod); state == podReady || state == podTerminating || !explainsPods(node.Problems) {
		return cause{}
	}
	return cause{
		reason: v1.ReasonNodeProblem,
		problem: message.Problem{
			Text:  fmt.Sprintf("Pod %s runs on node %s, which has a problem", pod.Name, pod.Spec.NodeName),
			Quote: describe(node.Problems), Advice: "Repair the node, or delete the pod so that another node runs it.",
		},
		warning: true,
	}
}

// pauseCause returns why a change is not rolled out if the Deployment is paused.
func pauseCause(d *appsv1.Deployment) cause {
	if !d.Spec.Paused || !rolling(d) {
		return cause{}
	}
	return cause{reason: v1.ReasonDeploymentPaused, lasting: true, problem: message.Problem{
		Text: "The rollout of the Deployment is paused", Advice: fmt.Sprintf(
			"Run 'kubectl rollout resume -n %s deployment/%s' to continue it.", d.Namespace, d.Name)}}
}

// creationCause returns why the API server accepts no more pods.
func creationCause(d *appsv1.Deployment) cause {
	for _, c := range d.Status.Conditions {
		if c.Type != appsv1.DeploymentReplicaFailure || c.Status != corev1.ConditionTrue {
			continue
		}
		if problem := remedy.Quota(c.Message, ""); problem != (message.Problem{}) {
			return cause{reason: v1.ReasonQuotaExceeded, lasting: true, problem: problem}
		}
		if account := missingServiceAccount(c.Message); account != "" {
			return serviceAccountCause(d, account)
		}
		words := c.Message // begins with the name of a pod that was never created
		if _, why, found := strings.Cut(words, " is forbidden: "); found {
			words = why
		}
		return cause{reason: v1.ReasonPodsRejected, lasting: !isTemporary(words),
			problem: message.Problem{Text: "The API server rejects the pods", Quote: words, Advice: remedy.Creation(words)}}
	}
	return cause{}
}

// defaultServiceAccount is the ServiceAccount of pods that name none.
const defaultServiceAccount = "default"

// adviceOnServiceAccount says what to do about a ServiceAccount that does not exist.
const adviceOnServiceAccount = "Create it, or change spec.serviceAccountName."

// missingServiceAccount returns the name of the missing ServiceAccount that makes the API server reject a pod, empty if it rejects the pod
// for another reason: k8s.io/kubernetes/plugin/pkg/admission/serviceaccount. A controller makes the one of a new namespace, default, so
// that it is not missing for long.
func missingServiceAccount(message string) string {
	_, why, found := strings.Cut(message, "error looking up service account ")
	_, why, quoted := strings.Cut(why, `serviceaccount "`)
	name, _, missing := strings.Cut(why, `" not found`)
	if !found || !quoted || !missing || name == defaultServiceAccount {
		return ""
	}
	return name
}

// serviceAccountCause returns why the API server accepts no pods of a ServiceAccount that does not exist. No event reports to Kubernetes
// that it was created.
func serviceAccountCause(d *appsv1.Deployment, name string) cause {
	return cause{reason: v1.ReasonServiceAccountNotFound, lasting: true, problem: message.Problem{
		Text: fmt.Sprintf("The ServiceAccount %s does not exist", name),
		Advice: fmt.Sprintf("%s Then run 'kubectl rollout restart -n %s deployment/%s', or wait up to 17 minutes for Kubernetes to retry.",
			adviceOnServiceAccount, d.Namespace, d.Name)}}
}
