package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// failedPodWindow is how much older than the newest pod a failed pod can be and still count as a cause. An old eviction does not explain
// missing pods, but a series of pods that fail immediately does.
const failedPodWindow = time.Minute

// cause explains why pods are missing, and what to do about it. The zero value means that the cause is unknown.
type cause struct {
	reason  v1.Reason
	problem message.Problem
	// warning is true if the phase is Warning even while a change is being rolled out.
	warning bool
	// lasting is true if the cause remains until a user acts. In this case, the Echo is degraded.
	lasting bool
	// unclear is true if only the previous status shows whether the cause is lasting.
	unclear bool
}

// resolveFrom returns a cause that is no longer unclear. If the cause was unclear, lasting comes from the previous status.
func (c cause) resolveFrom(before *v1.EchoStatus) cause {
	if c.unclear {
		degraded := meta.FindStatusCondition(before.Conditions, v1.ConditionDegraded)
		c.lasting = degraded != nil && degraded.Status == metav1.ConditionTrue && degraded.Reason == c.reason.String()
	}
	return c
}

// causeOf returns why pods are missing: the rollout is paused, no pods can be created, or a pod shows a cause. The newest such pod counts.
func causeOf(seen Observation) cause {
	d := seen.Deployment
	if d.Spec.Paused && rolling(d) {
		return cause{reason: v1.ReasonDeploymentPaused, lasting: true, problem: message.Problem{
			Text: "The rollout of the Deployment is paused", Advice: fmt.Sprintf(
				"Run 'kubectl rollout resume -n %s deployment/%s' to continue it.", d.Namespace, d.Name)}}
	}
	if c := creationCause(d); c != (cause{}) {
		return c
	}
	for _, pod := range seen.Pods {
		state, problems := PodState(pod), seen.Nodes[pod.NodeName].Problems
		if state == podFailed && seen.Pods[0].CreationTimestamp.Sub(pod.CreationTimestamp.Time) > failedPodWindow {
			continue
		}
		isExplained := slices.ContainsFunc(problems, func(p NodeProblem) bool { return p.Name != nodeUnschedulable })
		if state != podReady && state != podTerminating && isExplained {
			return cause{reason: v1.ReasonNodeProblem, problem: message.Problem{
				Text:  fmt.Sprintf("Pod %s runs on node %s, which has a problem", pod.Name, pod.NodeName),
				Quote: describe(problems), Advice: "Repair the node, or delete the pod so that a replacement runs on another node.",
			}, warning: true} // a rollout does not hide this cause, because the node requires attention
		}
		if c := podCause(pod); c != (cause{}) {
			return c
		}
	}
	return cause{}
}

// creationCause returns the reason why the API server accepts no more pods.
func creationCause(d *appsv1.Deployment) cause {
	c := deploymentCondition(d, appsv1.DeploymentReplicaFailure)
	if c.Status != corev1.ConditionTrue {
		return cause{}
	}
	if problem := quotaRemedy(c.Message, ""); problem != (message.Problem{}) {
		return cause{reason: v1.ReasonQuotaExceeded, lasting: true, problem: problem}
	}
	if account := missingServiceAccount(c.Message); account != "" {
		return cause{reason: v1.ReasonServiceAccountNotFound, lasting: true, problem: message.Problem{
			Text: fmt.Sprintf("The ServiceAccount %s does not exist", account),
			// Kubernetes does not retry immediately when the ServiceAccount is created.
			Advice: fmt.Sprintf("%s Then run 'kubectl rollout restart -n %s deployment/%s', or wait up to 17 minutes for Kubernetes to retry.",
				adviceOnServiceAccount, d.Namespace, d.Name)}}
	}
	words := after(" is forbidden: ", c.Message) // the message begins with the name of a pod that was never created
	return cause{reason: v1.ReasonPodsRejected, lasting: !isTemporary(words),
		problem: message.Problem{Text: "The API server rejects the pods", Quote: words, Advice: creationRemedy(words)}}
}

// adviceOnServiceAccount is the advice for a ServiceAccount that does not exist.
const adviceOnServiceAccount = "Create it, or change spec.serviceAccountName."

// missingServiceAccount returns the name of the ServiceAccount whose absence makes the API server reject a pod
// (k8s.io/kubernetes/plugin/pkg/admission/serviceaccount). The name is empty if the API server rejects the pod for another reason. The
// default ServiceAccount is ignored, because a controller soon creates it in a new namespace.
func missingServiceAccount(message string) string {
	_, why, found := strings.Cut(message, "error looking up service account ")
	_, why, quoted := strings.Cut(why, `serviceaccount "`)
	name, _, missing := strings.Cut(why, `" not found`)
	if !found || !quoted || !missing || name == "default" {
		return ""
	}
	return name
}

// NodeDeleted names the problem with a node that no longer exists.
const NodeDeleted = "Deleted"

// nodeUnschedulable names the only problem of a node that does not affect the pods that it runs.
const nodeUnschedulable = "Unschedulable"

// NodeProblem is a problem with a node: the name of the problem, and a sentence about it.
type NodeProblem struct{ Name, Text string }

// Node is a node that runs an Echo's pods.
type Node struct {
	// Pods is the number of the Echo's pods on the node.
	Pods int
	// Problems is empty if the node is healthy.
	Problems []NodeProblem
}

// ProblemsOf returns the problems of a node, sorted by name. A nil node stands for a node that no longer exists.
func ProblemsOf(node *corev1.Node) []NodeProblem {
	if node == nil {
		return []NodeProblem{{NodeDeleted, "The node was deleted."}}
	}
	var problems []NodeProblem
	if node.Spec.Unschedulable {
		problems = append(problems, NodeProblem{nodeUnschedulable, "The node is marked unschedulable."})
	}
	for _, c := range node.Status.Conditions {
		name, healthy := string(c.Type), false
		switch c.Type {
		case corev1.NodeReady:
			name, healthy = "NotReady", c.Status == corev1.ConditionTrue
		case corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable:
			healthy = c.Status != corev1.ConditionTrue // the status is Unknown if the node is not ready
		default: // Kubernetes does not define this condition, so its healthy value is not known
			continue
		}
		if !healthy {
			problems = append(problems, NodeProblem{name,
				message.Sentence(fmt.Sprintf("%s is %s: %s", c.Type, c.Status, cmp.Or(c.Message, c.Reason, "no reason is given")))})
		}
	}
	slices.SortFunc(problems, func(a, b NodeProblem) int { return cmp.Compare(a.Name, b.Name) })
	return problems
}

// ProblemNames returns the names of problems.
func ProblemNames(problems []NodeProblem) []string {
	var names []string
	for _, p := range problems {
		names = append(names, p.Name)
	}
	return names
}

func describe(problems []NodeProblem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Text)
	}
	return strings.Join(all, " ")
}

// nodeProblems returns the names of each node's problems, for at most the first maxNames nodes with problems, in alphabetical order.
func nodeProblems(nodes map[string]Node) []v1.EchoNodeProblems {
	var named []v1.EchoNodeProblems
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if problems := ProblemNames(nodes[name].Problems); problems != nil && len(named) < maxNames {
			named = append(named, v1.EchoNodeProblems{Name: name, Problems: problems})
		}
	}
	return named
}

// PodsByNode counts the pods on each node, except for pods that have finished.
func PodsByNode(pods []*objects.Pod) map[string]int {
	count := map[string]int{}
	for _, pod := range pods {
		if name := pod.NodeName; name != "" && !pod.HasEnded() {
			count[name]++
		}
	}
	return count
}
