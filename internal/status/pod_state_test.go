package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

const readyStatus = `{phase: Running, conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "True"}]}`

// companionOf returns a pod's companion as the API server would return it.
func companionOf(t *testing.T, echo string) *objects.Pod {
	t.Helper()
	g := NewWithT(t)
	c := objects.CompanionState{
		Owner: objects.LabeledPodOf(&corev1.Pod{Namespace: "ns", Name: "web-0", UID: "u", Spec: corev1.PodSpec{NodeName: "n"}}),
		Echo:  support.Echo("ns", echo, func(e *v1.Echo) { e.Finalizers = []string{v1.Finalizer} }),
		Node:  &corev1.Node{},
	}
	plan, err := c.Plan(testConfig(), objects.Policy{MaxReplicas: 20}, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(plan.Apply.Desired.Object, pod)).To(Succeed())
	return objects.PodOf(pod)
}

func TestSummarizePod(t *testing.T) {
	own := objects.PodOf(&corev1.Pod{
		Namespace: "ns", Name: "x-1", Labels: map[string]string{"app.kubernetes.io/instance": "x"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x", Controller: new(true)}},
		Spec:            corev1.PodSpec{NodeName: "n"},
		Status:          corev1.PodStatus{Phase: corev1.PodRunning},
	})
	companion := companionOf(t, "x")
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

func TestPodStates_isBounded(t *testing.T) {
	var pods []*objects.Pod
	for i := range 60 {
		pods = append(pods, podWith(t, fmt.Sprintf("p%02d", i), `{}`))
	}
	got := podStates(pods)["Pending"]
	if len(got) != maxPodNames || got[0] != "p00" || got[maxPodNames-1] != "p49" {
		t.Errorf("got %d names from %s to %s", len(got), got[0], got[len(got)-1])
	}
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
		if got := HasNewCause(c.before, c.after); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{"": "", "a": "a", "a\nb\n\n": "b", "\n": ""} {
		NewWithT(t).Expect(lastLine(text)).To(Equal(want), "lastLine(%q)", text)
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
		"waits": {
			`name: echo, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: ` + said + `}`, "certificate",
			want + todo, true},
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
