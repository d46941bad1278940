package status

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

var (
	notReady = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Message: "Kubelet stopped posting node status."}
	fine     = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
	full     = corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, Reason: "KubeletHasDiskPressure"}
)

// node returns a node named "n" with the given conditions.
func node(unschedulable bool, conditions ...corev1.NodeCondition) *corev1.Node {
	return &corev1.Node{Name: "n", Spec: corev1.NodeSpec{Unschedulable: unschedulable},
		Status: corev1.NodeStatus{Conditions: conditions}}
}

func TestProblemsOf(t *testing.T) {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status}
	}
	for name, c := range map[string]struct {
		node  *corev1.Node
		kinds []string
		says  string
	}{
		"well":      {node(false, fine), nil, ""},
		"says none": {node(false), nil, ""},
		"gone":      {nil, []string{"Deleted"}, "The node was deleted."},
		"cordoned":  {node(true, fine), []string{"Unschedulable"}, "The node is marked unschedulable."},
		"lost":      {node(false, notReady), []string{"NotReady"}, "Ready is Unknown: Kubelet stopped posting node status."},
		"not ready": {node(false, condition(corev1.NodeReady, corev1.ConditionFalse)), []string{"NotReady"},
			"Ready is False: no reason is given."},
		"full": {node(false, fine, full), []string{"DiskPressure"}, "DiskPressure is True: KubeletHasDiskPressure."},
		"no network": {node(false, condition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue)), []string{"NetworkUnavailable"},
			"NetworkUnavailable is True: no reason is given."},
		"all at once, in any order": {node(true, notReady, full, condition(corev1.NodeMemoryPressure, corev1.ConditionTrue)),
			[]string{"DiskPressure", "MemoryPressure", "NotReady", "Unschedulable"},
			"DiskPressure is True: KubeletHasDiskPressure. MemoryPressure is True: no reason is given. Ready is Unknown: Kubelet stopped posting " +
				"node status. The node is marked unschedulable."},
		"not known while lost": {node(false, notReady, condition(corev1.NodePIDPressure, corev1.ConditionUnknown)), []string{"NotReady"},
			"Ready is Unknown: Kubelet stopped posting node status."},
		"another client's": {node(false, fine, condition("KernelHasNoDeadlock", corev1.ConditionFalse), condition("Fancy", corev1.ConditionTrue)),
			nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			problems := ProblemsOf(c.node)
			if got := ProblemNames(problems); !slices.Equal(got, c.kinds) || describe(problems) != c.says {
				t.Errorf("got %v, %q; want %v, %q", got, describe(problems), c.kinds, c.says)
			}
		})
	}
}

func TestExplainsPods(t *testing.T) {
	for name, c := range map[string]struct {
		node *corev1.Node
		want bool
	}{
		"well":     {node(false, fine), false},
		"cordoned": {node(true, fine), false},
		"lost":     {node(true, notReady), true},
		"full":     {node(false, fine, full), true},
		"gone":     {nil, true},
	} {
		NewWithT(t).Expect(explainsPods(ProblemsOf(c.node))).To(Equal(c.want), name)
	}
}

func TestPodsByNode(t *testing.T) {
	on := func(node string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}}
	}
	got := PodsByNode([]corev1.Pod{on("a", corev1.PodRunning), on("a", corev1.PodPending), on("b", corev1.PodFailed),
		on("", corev1.PodPending)})
	NewWithT(t).Expect(got).To(BeComparableTo(map[string]int{"a": 2}))
}

func TestNodeProblems_isBounded(t *testing.T) {
	nodes := map[string]Node{"well": {1, nil}}
	for i := range maxNodes + 10 {
		nodes[fmt.Sprintf("n-%03d", i)] = Node{1, ProblemsOf(nil)}
	}
	got := nodeProblems(nodes)
	if len(got) != maxNodes || got["well"] != nil || !slices.Equal(got["n-000"], []string{"Deleted"}) {
		t.Errorf("got %d: %v", len(got), got)
	}
	NewWithT(t).Expect(nodeTransitions(got, nodeProblems(nodes), nodes)).To(BeNil(), "nodes beyond the limit are reported again and again")
}

func TestNodeTransitions(t *testing.T) {
	lost, cordoned, both, well := Node{2, ProblemsOf(node(false, notReady))}, Node{1, ProblemsOf(node(true))}, Node{2,
		ProblemsOf(node(true, notReady))}, Node{1, nil}
	type states = map[string]Node
	for name, c := range map[string]struct {
		before states
		nodes  states
		want   []string
	}{
		"well": {nil, states{"n": well}, nil},
		"lost": {states{"n": well}, states{"n": lost},
			[]string{
				`Warning NodeProblem Node "n", which runs 2 pods of this Echo, has a problem: Ready is Unknown: Kubelet stopped posting node status.`}},
		"still lost": {states{"n": lost}, states{"n": lost}, nil},
		"fewer pods": {states{"n": lost}, states{"n": {1, lost.Problems}}, nil},
		"cordoned, too": {states{"n": lost}, states{"n": both},
			[]string{
				`Warning NodeProblem Node "n", which runs 2 pods of this Echo, has a problem: Ready is Unknown: Kubelet stopped posting node status. ` +
					`The node is marked unschedulable.`}},
		"back":     {states{"n": lost}, states{"n": well}, []string{`Normal NodeRecovered Node "n" has recovered.`}},
		"left":     {states{"n": cordoned}, states{}, []string{`Normal NodeRecovered Node "n" no longer runs pods of this Echo.`}},
		"not read": {states{"n": cordoned}, nil, nil},
		"one each": {states{"a": lost, "b": well}, states{"a": well, "b": cordoned},
			[]string{`Warning NodeProblem Node "b", which runs 1 pod of this Echo, has a problem: The node is marked unschedulable.`,
				`Normal NodeRecovered Node "a" has recovered.`}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range nodeTransitions(nodeProblems(c.before), nodeProblems(c.nodes), c.nodes) {
				got = append(got, n.Reason.EventType()+" "+n.Reason.String()+" "+n.Note)
			}
			NewWithT(t).Expect(got).To(BeComparableTo(c.want))
		})
	}
}
