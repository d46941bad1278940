package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/tests/support"
)

// podWith returns a pod with the given status, which is in YAML.
func podWith(t *testing.T, name, status string) *objects.Pod {
	t.Helper()
	pod := &corev1.Pod{Namespace: "ns", Name: name}
	NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(status), &pod.Status)).To(Succeed())
	return objects.PodOf(pod)
}

// containerWaits returns the status of a pod whose container is waiting.
func containerWaits(reason, message string) string {
	return `{phase: Pending, containerStatuses: [{name: echo, image: "r/i:1", state: {waiting: {reason: ` + reason + `, message: "` + message +
		`"}}}]}`
}

// whole returns a problem with the given text, in the form that flat returns.
func whole(text string) message.Problem { return message.Problem{Text: text} }

// flat combines the parts of a cause's problem into one text.
func flat(c cause) cause {
	c.problem = whole(c.problem.String())
	return c
}

func TestPodCause(t *testing.T) {
	const logs = "Run 'kubectl logs --previous -n ns p -c echo' to see why."
	const capacity, again = "Lower spec.resources.requests, request fewer replicas, or add nodes.", "If it happens again, check the node and spec.resources."
	const selector = "Change spec.nodeSelector or spec.affinity, or label a node accordingly."
	const crashed = `{exitCode: 2, reason: Error, message: "one\nlast words\n"}`
	for name, c := range map[string]struct {
		status  string
		reason  v1.Reason
		message string
		lasting bool
	}{
		"ready": {
			`{phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{restartCount: 3, lastState: {terminated: ` +
				`{exitCode: 1}}}]}`, nil, "", false},
		"starting":           {containerWaits("ContainerCreating", ""), nil, "", false},
		"running, not ready": {`{phase: Running, conditions: [{type: Ready, status: "False", message: no}], containerStatuses: [{name: echo, state: {running: {}}}]}`, nil, "", false},
		"waits to pull again": {containerWaits("ImagePullBackOff",
			"Back-off pulling image r/i:1: ErrImagePull: rpc error: code = NotFound desc = r/i:1: not found"), v1.ReasonImagePullFailed,
			`Image r/i:1 cannot be pulled: "r/i:1: not found". Check spec.image, and spec.imagePullSecrets if the registry requires credentials.`,
			true},
		"wrapped errors of containerd": {containerWaits("ErrImagePull", `rpc error: code = NotFound desc = failed to pull and unpack image \"r/i:1\": `+
			`failed to resolve reference \"r/i:1\": r/i:1: not found`), v1.ReasonImagePullFailed,
			`Image r/i:1 cannot be pulled: "r/i:1: not found". Check spec.image, and spec.imagePullSecrets if the registry requires credentials.`,
			true},
		"another's image": {
			`{phase: Pending, containerStatuses: [{name: mesh, image: m, state: {waiting: {reason: InvalidImageName, message: gone}}}]}`,
			v1.ReasonImagePullFailed, `Image m cannot be pulled: "gone". Check the image of this container, which another client added to the pods.`, true},
		"a Secret is missing": {containerWaits("CreateContainerConfigError", `secret \"x\" not found`), v1.ReasonContainerNotStarted,
			`Container echo of pod p cannot be started: "secret 'x' not found". Create the Secret, or change spec.env.`, true},
		"no message at all": {containerWaits("PostStartHookError", ""), v1.ReasonContainerNotStarted,
			`Container echo of pod p cannot be started: "PostStartHookError". Check spec.image, spec.args, and spec.env.`, false},
		"crashed": {`{phase: Running, containerStatuses: [{name: echo, state: {terminated: ` + crashed + `}}]}`, v1.ReasonPodsCrashing,
			`Container echo of pod p terminated with exit code 2: "last words". Check spec.args and spec.env. ` + logs, false},
		"waits after a crash": {
			`{phase: Running, containerStatuses: [{name: echo, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: ` +
				`{terminated: ` + crashed + `}}]}`,
			v1.ReasonPodsCrashing, `Container echo of pod p terminated with exit code 2: "last words". Check spec.args and spec.env. ` + logs, false},
		"ends without an error, again and again": {
			`{phase: Running, containerStatuses: [{name: echo, restartCount: 1, state: {running: {}}, lastState: {terminated: {exitCode: 0}}}]}`,
			v1.ReasonPodsCrashing,
			"Container echo of pod p terminated with exit code 0. If its probe fails, make it listen on spec.port. " + logs, false},
		"out of memory": {`{phase: Running, containerStatuses: [{name: echo, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]}`,
			v1.ReasonPodsCrashing,
			"Container echo of pod p terminated with exit code 137 because it exceeded its memory limit. Raise spec.resources.limits.memory.",
			false},
		"an init container is done": {
			`{phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 0}}}], containerStatuses: [{name: echo, state: ` +
				`{waiting: {reason: PodInitializing}}}]}`, nil, "", false},
		"an init container crashed": {`{phase: Pending, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 1}}}]}`,
			v1.ReasonPodsCrashing,
			`Container i of pod p terminated with exit code 1. Run 'kubectl logs --previous -n ns p -c i' to see why.`, false},
		"a container that is well again, next to one that is not ready": {
			`{phase: Running, containerStatuses: [{name: mesh, ready: true, restartCount: 1, lastState: {terminated: {exitCode: 1}}}, {name: ` +
				`echo, state: {running: {}}}]}`, nil, "", false},
		"scheduled": {`{phase: Pending, conditions: [{type: PodScheduled, status: "True", message: "at last"}]}`, nil, "", false},
		"no node": {
			`{phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available: 1 ` +
				`Insufficient cpu."}]}`,
			v1.ReasonUnschedulable, `Pod p cannot be scheduled: "0/1 nodes are available: 1 Insufficient cpu". ` + capacity, false},
		"no node at all": {
			`{phase: Pending, conditions: [{type: PodScheduled, status: "False", message: "no nodes available to schedule pods"}]}`,
			v1.ReasonUnschedulable, `Pod p cannot be scheduled: "no nodes available to schedule pods". Add a node to the cluster.`, true},
		"no node fits": {
			`{phase: Pending, conditions: [{type: PodScheduled, status: "False", message: "0/1 nodes are available: 1 node(s) didn't match Pod's ` +
				`node affinity/selector."}]}`,
			v1.ReasonUnschedulable, `Pod p cannot be scheduled: "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector". ` + selector,
			true},
		"those that fit are full": {
			`{phase: Pending, conditions: [{type: PodScheduled, status: "False", message: "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) ` +
				`didn't match Pod's node affinity/selector."}]}`,
			v1.ReasonUnschedulable,
			`Pod p cannot be scheduled: "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector". ` + capacity, false},
		"the one that fits is cordoned": {
			`{phase: Pending, conditions: [{type: PodScheduled, status: "False", message: "0/2 nodes are available: 1 node(s) were unschedulable, ` +
				`1 node(s) didn't match Pod's node affinity/selector."}]}`,
			v1.ReasonUnschedulable,
			`Pod p cannot be scheduled: "0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) didn't match Pod's node affinity/selector". ` + selector,
			false},
		"the one that fits is not ready": {
			`{phase: Pending, conditions: [{type: PodScheduled, status: "False", message: "0/2 nodes are available: 1 node(s) had untolerated ` +
				`taint(s), 1 node(s) didn't match Pod's node affinity/selector."}]}`,
			v1.ReasonUnschedulable,
			`Pod p cannot be scheduled: "0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) didn't match Pod's node ` +
				`affinity/selector". ` + selector, false},
		"the registry is away": {containerWaits("ErrImagePull", "dial tcp 192.0.2.1:443: i/o timeout"), v1.ReasonImagePullFailed,
			`Image r/i:1 cannot be pulled: "dial tcp 192.0.2.1:443: i/o timeout". Check spec.image, and spec.imagePullSecrets if the registry ` +
				`requires credentials.`, false},
		"evicted": {`{phase: Failed, reason: Evicted, message: "The node was low on resource: memory. "}`, v1.ReasonPodFailed,
			`Pod p has failed: "The node was low on resource: memory". ` + again, false},
		"ended, no message": {`{phase: Failed, reason: Evicted}`, v1.ReasonPodFailed, `Pod p has failed: "Evicted". ` + again, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			pod := podWith(t, "p", c.status)
			got := podCause(pod)
			g.Expect(flat(got)).To(Equal(cause{reason: c.reason, problem: whole(c.message), lasting: c.lasting}))
			pod.Deleted = true
			g.Expect(podCause(pod)).To(Equal(cause{}), "a pod that is being deleted explains nothing")
		})
	}
}

func TestCause(t *testing.T) {
	born := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	pod := func(name, status string, age time.Duration) *objects.Pod {
		p := podWith(t, name, status)
		p.CreationTimestamp = metav1.NewTime(born.Add(-age))
		return p
	}
	refused := func(message string) *appsv1.Deployment {
		return &appsv1.Deployment{Namespace: "ns", Name: "x",
			Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Message: "no matter"},
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: message}}}}
	}
	over := refused("exceeded quota: q")
	over.Status.Conditions[1].Status = corev1.ConditionFalse
	on := func(node string, p *objects.Pod) *objects.Pod {
		p.NodeName = node
		return p
	}
	lost := map[string]Node{"lost": {1, ProblemsOf(node(false, notReady))}, "cordoned": {1, ProblemsOf(node(true))}}
	const running, ready, lostMessage = `{phase: Running}`, `{phase: Running, conditions: [{type: Ready, status: "True"}]}`,
		`Pod a runs on node lost, which has a problem: "Ready is Unknown: Kubelet stopped posting node status". ` +
			"Repair the node, or delete the pod so that a replacement runs on another node."
	starting, evicted, unpulled := containerWaits("ContainerCreating", ""), `{phase: Failed, reason: Evicted}`, containerWaits("ErrImagePull",
		"no")
	for name, c := range map[string]struct {
		deployment *appsv1.Deployment
		pods       []*objects.Pod
		nodes      map[string]Node
		want       cause
	}{
		"nothing known": {deployment: &appsv1.Deployment{}, pods: []*objects.Pod{pod("a", starting, 0)}},
		"quota": {deployment: refused(`pods "x-1" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1`),
			pods: []*objects.Pod{pod("a", unpulled, 0)},
			want: cause{reason: v1.ReasonQuotaExceeded,
				problem: whole(`A resource quota rejects the pods: "exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1". ` +
					"Raise it, or lower spec.replicas or spec.resources."), lasting: true}},
		"Pod Security": {deployment: refused(`pods "x-1" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`),
			want: cause{reason: v1.ReasonPodsRejected,
				problem: whole(`The API server rejects the pods: "violates PodSecurity 'restricted:latest': runAsNonRoot != true". ` +
					"Change spec.podSecurityContext and spec.securityContext, or relax the namespace's Pod Security Standard."), lasting: true}},
		"a webhook that is away": {
			deployment: refused(`Internal error occurred: failed calling webhook "w": no endpoints available for service "w"`),
			want: cause{reason: v1.ReasonPodsRejected,
				problem: whole(`The API server rejects the pods: "Internal error occurred: failed calling webhook 'w': no endpoints available for ` +
					`service 'w'". Check that the webhook's Service is available. Kubernetes retries automatically.`)}},
		"a namespace that is new": {deployment: refused(`error looking up service account ns/default: serviceaccount "default" not found`),
			want: cause{reason: v1.ReasonPodsRejected,
				problem: whole(`The API server rejects the pods: "error looking up service account ns/default: serviceaccount 'default' not found". ` +
					"Change the Echo accordingly, or ask a cluster administrator.")}},
		"no such ServiceAccount": {
			deployment: refused(`pods "x-1" is forbidden: error looking up service account ns/mesh: serviceaccount "mesh" not found`),
			want: cause{reason: v1.ReasonServiceAccountNotFound, lasting: true,
				problem: whole(`The ServiceAccount mesh does not exist. Create it, or change spec.serviceAccountName. ` +
					"Then run 'kubectl rollout restart -n ns deployment/x', or wait up to 17 minutes for Kubernetes to retry.")}},
		"a webhook": {deployment: refused(`admission webhook "w" denied the request`),
			want: cause{reason: v1.ReasonPodsRejected, problem: whole(`The API server rejects the pods: "admission webhook 'w' denied the request". ` +
				"Change the Echo as the policy requires, or ask the policy's administrator for an exception."),
				lasting: true}},
		"the rollout is paused": {deployment: &appsv1.Deployment{Namespace: "ns", Name: "x",
			Spec: appsv1.DeploymentSpec{Paused: true}},
			pods: []*objects.Pod{pod("a", unpulled, 0)},
			want: cause{reason: v1.ReasonDeploymentPaused,
				problem: whole("The rollout of the Deployment is paused. Run 'kubectl rollout resume -n ns deployment/x' to continue it."), lasting: true}},
		"paused after its rollout": {deployment: func() *appsv1.Deployment {
			d := seenDeployment(done, 2, 2, 1)
			d.Spec.Paused = true
			return d
		}()},
		"a refusal is over": {deployment: over},
		"the newest counts": {deployment: &appsv1.Deployment{},
			pods: []*objects.Pod{pod("a", starting, 0), pod("b", evicted, time.Second), pod("c", unpulled, 2*time.Second)},
			want: cause{reason: v1.ReasonPodFailed, problem: whole(`Pod b has failed: "Evicted". If it happens again, check the node and spec.resources.`)}},
		"evicted long ago": {deployment: &appsv1.Deployment{},
			pods: []*objects.Pod{pod("a", starting, 0), pod("b", evicted, failedPodWindow+time.Second)}},
		"evicted just in time": {deployment: &appsv1.Deployment{}, pods: []*objects.Pod{pod("a", starting, 0), pod("b", evicted, failedPodWindow)},
			want: cause{reason: v1.ReasonPodFailed, problem: whole(`Pod b has failed: "Evicted". If it happens again, check the node and spec.resources.`)}},
		"its node is lost": {deployment: &appsv1.Deployment{}, pods: []*objects.Pod{on("lost", pod("a", unpulled, 0))}, nodes: lost,
			want: cause{reason: v1.ReasonNodeProblem, problem: whole(lostMessage), warning: true}},
		"its node is cordoned": {deployment: &appsv1.Deployment{}, pods: []*objects.Pod{on("cordoned", pod("a", running, 0))}, nodes: lost},
		"ready on a lost node": {deployment: &appsv1.Deployment{}, pods: []*objects.Pod{on("lost", pod("a", ready, 0))}, nodes: lost},
		"another's node":       {deployment: &appsv1.Deployment{}, pods: []*objects.Pod{on("fine", pod("a", running, 0))}, nodes: lost},
		"the one in its place": {deployment: &appsv1.Deployment{},
			pods: []*objects.Pod{on("fine", pod("b", starting, 0)), on("lost", pod("a", running, time.Hour))}, nodes: lost,
			want: cause{reason: v1.ReasonNodeProblem, problem: whole(lostMessage), warning: true}},
		"the newest evicted": {deployment: &appsv1.Deployment{}, pods: []*objects.Pod{pod("b", evicted, time.Hour)},
			want: cause{reason: v1.ReasonPodFailed, problem: whole(`Pod b has failed: "Evicted". If it happens again, check the node and spec.resources.`)}},
	} {
		NewWithT(t).Expect(flat(causeOf(Observation{Deployment: c.deployment, Pods: c.pods, Nodes: c.nodes}))).To(Equal(c.want), name)
	}
}

// TestResolveFrom covers kubelets before version 1.31. These kubelets alternate between the reason why an image cannot be pulled and a
// back-off message without a reason.
func TestResolveFrom(t *testing.T) {
	degraded := func(status metav1.ConditionStatus, reason v1.Reason) *v1.EchoStatus {
		return &v1.EchoStatus{Conditions: []metav1.Condition{{Type: v1.ConditionDegraded, Status: status, Reason: reason.String()}}}
	}
	pod := podWith(t, "p", containerWaits("ImagePullBackOff", `Back-off pulling image \"r/i:1\"`))
	for name, c := range map[string]struct {
		before *v1.EchoStatus
		want   bool
	}{
		"new":                       {&v1.EchoStatus{}, false},
		"not degraded":              {degraded(metav1.ConditionFalse, v1.ReasonAsExpected), false},
		"degraded by the image":     {degraded(metav1.ConditionTrue, v1.ReasonImagePullFailed), true},
		"degraded by another cause": {degraded(metav1.ConditionTrue, v1.ReasonPodsRejected), false},
	} {
		if got := podCause(pod).resolveFrom(c.before); got.lasting != c.want || got.reason != v1.ReasonImagePullFailed {
			t.Errorf("%s: got %+v, want lasting: %t", name, got, c.want)
		}
	}
}

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
		g, problems := NewWithT(t), ProblemsOf(c.node)
		g.Expect(ProblemNames(problems)).To(HaveExactElements(c.kinds), name)
		g.Expect(describe(problems)).To(Equal(c.says), name)
	}
}

func TestPodsByNode(t *testing.T) {
	on := func(node string, phase corev1.PodPhase) *objects.Pod {
		return objects.PodOf(&corev1.Pod{Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase}})
	}
	got := PodsByNode([]*objects.Pod{on("a", corev1.PodRunning), on("a", corev1.PodPending), on("b", corev1.PodFailed),
		on("", corev1.PodPending)})
	NewWithT(t).Expect(got).To(BeComparableTo(map[string]int{"a": 2}))
}

func TestNodeProblems_isBounded(t *testing.T) {
	nodes := map[string]Node{"well": {1, nil}}
	for i := range maxNames + 10 {
		nodes[fmt.Sprintf("n-%03d", i)] = Node{1, ProblemsOf(nil)}
	}
	got := nodeProblems(nodes)
	if len(got) != maxNames || !slices.Equal(v1.ProblemsOf(got, "n-000"), []string{"Deleted"}) {
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

const readyStatus = `{phase: Running, conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "True"}]}`

func TestSummarizePod(t *testing.T) {
	own := objects.PodOf(&corev1.Pod{
		Namespace: "ns", Name: "x-1", Labels: map[string]string{"app.kubernetes.io/instance": "x"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x", Controller: new(true)}},
		Spec:            corev1.PodSpec{NodeName: "n"},
		Status:          corev1.PodStatus{Phase: corev1.PodRunning},
	})
	desired, err := objects.Companion(objects.LabeledPodOf(&corev1.Pod{Namespace: "ns", Name: "web-0", UID: "u"}), support.Echo("ns", "x"),
		objects.Config{Images: objects.Images{EchoServer: "i"}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{}
	NewWithT(t).Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(desired.Desired.Object, pod)).To(Succeed())
	companion := objects.PodOf(pod)
	strange, unnamed := *own, *own
	strange.OfReplicaSet, unnamed.Echo = false, ""
	for name, c := range map[string]struct {
		pod  *objects.Pod
		want PodSummary
		is   bool
	}{
		"own":        {own, PodSummary{Name: "x-1", Node: "n", State: podNotReady}, true},
		"companion":  {companion, PodSummary{Name: companion.Name, State: podPending, Companion: true}, true},
		"another's":  {&strange, PodSummary{}, false},
		"of no Echo": {&unnamed, PodSummary{}, false},
		"asks, only": {&objects.Pod{}, PodSummary{}, false},
	} {
		echo, got, is := SummarizePod(c.pod)
		if got != c.want || is != c.is || is && (echo != types.NamespacedName{Namespace: "ns", Name: "x"}) {
			t.Errorf("%s: got %v, %+v, %t", name, echo, got, is)
		}
	}
}

func TestPodStates(t *testing.T) {
	going := podWith(t, "g", readyStatus)
	going.Deleted = true
	got := podStates([]*objects.Pod{
		going,
		podWith(t, "r2", readyStatus),
		podWith(t, "r1", readyStatus),
		podWith(t, "n", `{phase: Running, conditions: [{type: Ready, status: "False"}]}`),
		podWith(t, "p", `{phase: Pending}`),
		podWith(t, "new", `{}`),
		podWith(t, "f", `{phase: Failed}`),
		podWith(t, "s", `{phase: Succeeded}`),
	})
	want := map[string][]string{"Terminating": {"g"}, "Ready": {"r1", "r2"}, "NotReady": {"n"}, "Pending": {"new", "p"}, "Failed": {"f", "s"}}
	NewWithT(t).Expect(got).To(BeComparableTo(want))
}

func TestPodDiffers(t *testing.T) {
	ready := podWith(t, "p", readyStatus)
	other := podWith(t, "p", `{phase: Running, podIP: 10.0.0.1, conditions: [{type: Ready, status: "True"}]}`)
	crashed := podWith(t, "p", `{phase: Running, containerStatuses: [{name: echo, state: {terminated: {exitCode: 1}}}]}`)
	starting := podWith(t, "p", `{phase: Running, containerStatuses: [{name: echo, state: {running: {}}}]}`)
	pending := podWith(t, "p", `{phase: Pending}`)
	assigned := *pending
	assigned.NodeName = "n"
	for name, c := range map[string]struct {
		before, after *objects.Pod
		want          bool
	}{
		"nothing that the status shows": {ready, other, false},
		"became ready":                  {starting, ready, true},
		"was assigned to a node":        {pending, &assigned, true}, // the status also depends on the node, which may have problems
		"crashed":                       {starting, crashed, true},
	} {
		NewWithT(t).Expect(PodDiffers(c.before, c.after)).To(Equal(c.want), name)
	}
}

func TestSortPods_newestFirst(t *testing.T) {
	pod := func(name string, seconds int64) *objects.Pod {
		return objects.PodOf(&corev1.Pod{Name: name, CreationTimestamp: metav1.Unix(seconds, 0)})
	}
	pods := []*objects.Pod{pod("old", 1), pod("b", 2), pod("a", 2), pod("new", 3)}
	SortPods(pods)
	for i, want := range []string{"new", "a", "b", "old"} {
		NewWithT(t).Expect(pods[i].Name).To(Equal(want), "pod %d", i)
	}
}

func TestHasNewCause(t *testing.T) {
	waiting := func(reason string) *objects.Pod {
		return objects.PodOf(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "echo", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}}}}}})
	}
	for name, c := range map[string]struct {
		before, after *objects.Pod
		want          bool
	}{
		"starts":     {&objects.Pod{}, waiting("ContainerCreating"), false},
		"new":        {&objects.Pod{}, waiting("ImagePullBackOff"), true},
		"appears":    {waiting("ContainerCreating"), waiting("ImagePullBackOff"), true},
		"stays":      {waiting("ImagePullBackOff"), waiting("ImagePullBackOff"), false},
		"changes":    {waiting("ImagePullBackOff"), waiting("CreateContainerConfigError"), true},
		"goes away":  {waiting("ImagePullBackOff"), waiting("ContainerCreating"), false},
		"never came": {waiting("ContainerCreating"), waiting("PodInitializing"), false},
	} {
		NewWithT(t).Expect(HasNewCause(c.before, c.after)).To(Equal(c.want), name)
	}
}

// TestPodCause_missingCertificate checks that the Echo is not degraded after the first crash, because the Secret may still be created. From
// the second crash on, the Echo is degraded, even between restarts.
func TestPodCause_missingCertificate(t *testing.T) {
	const (
		line = `echo-server: Secret \"certificate\" has no key tls.crt`
		said = `{exitCode: 1, message: "` + line + `"}`
		want = `Container echo of pod p terminated with exit code 1: "echo-server: Secret 'certificate' has no key tls.crt".`
		todo = " Create or correct the Secret certificate of type kubernetes.io/tls, or change spec.tls.secretName."
		logs = " Check spec.args and spec.env. Run 'kubectl logs --previous -n ns p -c echo' to see why."
	)
	for name, c := range map[string]struct {
		container, secret string
		message           string
		lasting           bool
	}{
		"the first time": {`name: echo, state: {terminated: ` + said + `}`, "certificate", want + todo, false},
		"started again": {`name: echo, restartCount: 1, state: {running: {}}, lastState: {terminated: ` + said + `}`,
			"certificate", want + todo, false},
		"the second time": {`name: echo, restartCount: 1, state: {terminated: ` + said + `}`, "certificate", want + todo, true},
		"started again, after a wait": {`name: echo, restartCount: 2, state: {running: {}}, lastState: {terminated: ` + said + `}`,
			"certificate", want + todo, true},
		"another Secret":      {`name: echo, restartCount: 2, state: {terminated: ` + said + `}`, "other", want + logs, false},
		"an Echo without TLS": {`name: echo, restartCount: 2, state: {terminated: ` + said + `}`, "", want + logs, false},
		"another container of the pod": {`name: mesh, restartCount: 2, state: {terminated: ` + said + `}`, "certificate",
			strings.Replace(want, "echo", "mesh", 1) + strings.NewReplacer("-c echo", "-c mesh", "Check spec.args and spec.env. ", "").Replace(logs), false},
		"another cause, with that name": {`name: echo, restartCount: 2, state: {terminated: {exitCode: 1, message: "certificate of the proxy"}}`,
			"certificate", `Container echo of pod p terminated with exit code 1: "certificate of the proxy".` + logs, false},
	} {
		pod := podWith(t, "p", `{phase: Running, containerStatuses: [{`+c.container+`}]}`)
		pod.TLSSecret = c.secret
		NewWithT(t).Expect(flat(podCause(pod))).To(Equal(cause{reason: v1.ReasonPodsCrashing, problem: whole(c.message), lasting: c.lasting}), name)
	}
}
