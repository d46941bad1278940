package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

// maxNodes is the maximum number of nodes that a status names.
const maxNodes = 50

// NodeDeleted names the problem with a node that no longer exists.
const NodeDeleted = "Deleted"

// These are the names of node problems that are not named after a condition.
const (
	nodeUnschedulable = "Unschedulable"
	nodeNotReady      = "NotReady"
)

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
		if name := conditionProblem(c); name != "" {
			problems = append(problems, NodeProblem{name,
				message.Sentence(fmt.Sprintf("%s is %s: %s", c.Type, c.Status, cmp.Or(c.Message, c.Reason, "no reason is given")))})
		}
	}
	slices.SortFunc(problems, func(a, b NodeProblem) int { return cmp.Compare(a.Name, b.Name) })
	return problems
}

// conditionProblem returns the problem that a node condition reports, or an empty string. Conditions that Kubernetes does not define are
// ignored, because their healthy value is not known.
func conditionProblem(c corev1.NodeCondition) string {
	switch c.Type {
	case corev1.NodeReady:
		if c.Status != corev1.ConditionTrue {
			return nodeNotReady
		}
	case corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable:
		if c.Status == corev1.ConditionTrue { // the status is Unknown if the node is not ready
			return string(c.Type)
		}
	}
	return ""
}

// explainsPods reports whether a node's problems explain why a pod on the node is not ready.
func explainsPods(problems []NodeProblem) bool {
	return slices.ContainsFunc(problems, func(p NodeProblem) bool { return p.Name != nodeUnschedulable })
}

// ProblemNames returns the names of problems.
func ProblemNames(problems []NodeProblem) []string {
	var names []string
	for _, p := range problems {
		names = append(names, p.Name)
	}
	return names
}

// describe joins the descriptions of problems.
func describe(problems []NodeProblem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.Text)
	}
	return strings.Join(all, " ")
}

// nodeProblems returns the names of each node's problems, or nil if all nodes are healthy. The result includes at most the first maxNodes
// nodes with problems, in alphabetical order.
func nodeProblems(nodes map[string]Node) map[string][]string {
	var named map[string][]string
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if problems := ProblemNames(nodes[name].Problems); problems != nil && len(named) < maxNodes {
			if named == nil {
				named = map[string][]string{}
			}
			named[name] = problems
		}
	}
	return named
}

// PodsByNode counts the pods on each node, except for pods that have finished.
func PodsByNode(pods []corev1.Pod) map[string]int {
	count := map[string]int{}
	for i := range pods {
		if name := pods[i].Spec.NodeName; name != "" && !objects.HasEnded(&pods[i]) {
			count[name]++
		}
	}
	return count
}
