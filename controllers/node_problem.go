package controllers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// maxNodes is how many nodes a status names.
const maxNodes = 50

// What can be wrong with a node besides the conditions that say so by their own names.
const (
	nodeDeleted       = "Deleted"
	nodeUnschedulable = "Unschedulable"
	nodeNotReady      = "NotReady"
)

// nodeProblem is one thing that is wrong with a node, in one word and as the node says it.
type nodeProblem struct{ kind, says string }

// nodeState is what an Echo has to do with a node.
type nodeState struct {
	pods     int
	problems []nodeProblem // none: the node is well
}

// problemsOf tells what is wrong with a node; nil stands for one that is no longer there.
func problemsOf(node *corev1.Node) []nodeProblem {
	if node == nil {
		return []nodeProblem{{nodeDeleted, "Deleted: there is no such node any more."}}
	}
	var problems []nodeProblem
	if node.Spec.Unschedulable {
		problems = append(problems, nodeProblem{nodeUnschedulable, "Unschedulable: it takes no new pods."})
	}
	for _, c := range node.Status.Conditions {
		if kind := failing(c); kind != "" {
			problems = append(problems, nodeProblem{kind,
				fmt.Sprintf("%s is %s: %s", c.Type, c.Status, sentence(cmp.Or(c.Message, c.Reason, "no reason is given")))})
		}
	}
	slices.SortFunc(problems, func(a, b nodeProblem) int { return cmp.Compare(a.kind, b.kind) })
	return problems
}

// failing is what is wrong by a condition of a node, empty if nothing is. Conditions that others than Kubernetes put on nodes are
// not judged: it is not known which value of theirs is the good one.
func failing(c corev1.NodeCondition) string {
	switch c.Type {
	case corev1.NodeReady:
		if c.Status != corev1.ConditionTrue {
			return nodeNotReady
		}
	case corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable:
		if c.Status == corev1.ConditionTrue { // Unknown goes with a node that is not ready
			return string(c.Type)
		}
	}
	return ""
}

// takesPods tells whether the scheduler may put pods on a node.
func takesPods(node *corev1.Node) bool { return node != nil && !node.Spec.Unschedulable }

// keepsPodsDown tells whether what is wrong with a node explains that a pod on it is not ready.
func keepsPodsDown(problems []nodeProblem) bool {
	return slices.ContainsFunc(problems, func(p nodeProblem) bool { return p.kind != nodeUnschedulable })
}

// kindsOf are problems in one word each.
func kindsOf(problems []nodeProblem) []string {
	var kinds []string
	for _, p := range problems {
		kinds = append(kinds, p.kind)
	}
	return kinds
}

// say is what problems are, in sentences.
func say(problems []nodeProblem) string {
	var all []string
	for _, p := range problems {
		all = append(all, p.says)
	}
	return strings.Join(all, " ")
}

// nodeProblems are the nodes with which something is wrong, and what, as a status names them: at most maxNodes, in the order of the
// alphabet.
func nodeProblems(nodes map[string]nodeState) map[string][]string {
	named := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if kinds := kindsOf(nodes[name].problems); kinds != nil && len(named) < maxNodes {
			named[name] = kinds
		}
	}
	return named
}

// podsByNode counts the pods on each node, without those that have ended.
func podsByNode(pods []corev1.Pod) map[string]int {
	count := map[string]int{}
	for i := range pods {
		if name := pods[i].Spec.NodeName; name != "" && !hasEnded(&pods[i]) {
			count[name]++
		}
	}
	return count
}

// nodeNews tells what became of the nodes that an Echo's pods run on, between two statuses of it. A pass that did not look at the
// nodes has none.
func nodeNews(before, after map[string][]string, nodes map[string]nodeState) []transition {
	if nodes == nil {
		return nil
	}
	var news []transition
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !slices.Equal(before[name], after[name]) {
			news = append(news, transition{corev1.EventTypeWarning, "NodeProblem", "Observe", fmt.Sprintf(
				"The node %q, which runs %s of this Echo, has a problem: %s", name, count(nodes[name].pods, "pod"), say(nodes[name].problems))})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		switch node, runs := nodes[name]; {
		case !runs:
			news = append(news, nodeRecovered(fmt.Sprintf("No pod of this Echo is on the node %q any more.", name)))
		case len(node.problems) == 0:
			news = append(news, nodeRecovered(fmt.Sprintf("The node %q is well again.", name)))
		}
	}
	return news
}

func nodeRecovered(note string) transition {
	return transition{corev1.EventTypeNormal, "NodeRecovered", "Observe", note}
}

// count is a number of things, in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
