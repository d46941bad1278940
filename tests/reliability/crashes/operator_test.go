package crashes

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	operatorNamespace  = "echo-operator-system"
	operatorDeployment = "echo-operator-controller-manager"
	operatorLease      = "echo-operator.example.com"
	operatorPods       = "control-plane=controller-manager"
	// waitTimeout is the kubectl flag that limits how long kubectl waits. Operations that take seconds on an idle machine may take minutes on
	// a busy machine.
	waitTimeout = "--timeout=3m"
)

// install installs the operator, or restores its missing parts, and waits until both replicas run.
func install(ctx context.Context) {
	GinkgoHelper()
	apply(ctx)
	realcluster.Kubectl(ctx, "rollout", "status", "deployment", "-n", operatorNamespace, operatorDeployment, waitTimeout)
}

// apply applies the operator's manifests.
func apply(ctx context.Context) {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "tools/make/installer",
		realcluster.Image("echo-operator"), realcluster.Image("echo-server"), realcluster.Image("echo-operator-pathcheck"))
	command.Dir = support.Root()
	manifests, err := command.Output()
	Expect(err).NotTo(HaveOccurred())
	Eventually(func(g Gomega) { // the API server may have just started
		apply := exec.CommandContext(ctx, "kubectl", "apply", "--server-side", "--force-conflicts", "-f", "-")
		apply.Stdin = bytes.NewReader(manifests)
		output, err := apply.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
	}).WithContext(ctx).Should(Succeed())
}

// stopOperator stops all replicas of the operator.
func stopOperator(ctx context.Context) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "scale", "deployment", "-n", operatorNamespace, operatorDeployment, "--replicas=0")
	realcluster.Kubectl(ctx, "wait", "--for=delete", "pod", "-n", operatorNamespace, "-l", operatorPods, waitTimeout)
}

// replicas returns the operator's pods, and expects both pods to be running.
func replicas(ctx context.Context, g Gomega) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(k8s.List(ctx, list, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(
		Succeed())
	g.Expect(list.Items).To(HaveLen(2))
	for _, pod := range list.Items {
		g.Expect(pod.Status.ContainerStatuses).To(ConsistOf(HaveField("State.Running", Not(BeNil()))), pod.Name)
	}
	return list.Items
}

// lease returns the operator's lease.
func lease(ctx context.Context, g Gomega) *coordinationv1.Lease {
	found := &coordinationv1.Lease{}
	g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorLease}, found)).To(Succeed())
	return found
}

// awaitLeader waits until both replicas run and one of them holds the lease. It returns the leader and the other replica.
func awaitLeader(ctx context.Context) (*corev1.Pod, *corev1.Pod) {
	GinkgoHelper()
	var leader, other *corev1.Pod
	Eventually(func(g Gomega) {
		pods, held := replicas(ctx, g), lease(ctx, g)
		g.Expect(held.Spec.HolderIdentity).NotTo(HaveValue(BeEmpty()))
		leader, other = &pods[0], &pods[1]
		if !strings.HasPrefix(*held.Spec.HolderIdentity, leader.Name+"_") {
			leader, other = other, leader
		}
		g.Expect(*held.Spec.HolderIdentity).To(HavePrefix(leader.Name + "_"))
		// The process that holds the lease may have exited, and a new process may have started in the same pod.
		g.Expect(held.Spec.RenewTime.Time).To(BeTemporally(">", leader.Status.ContainerStatuses[0].State.Running.StartedAt.Time))
	}).WithContext(ctx).Should(Succeed())
	return leader, other
}

// kill sends SIGKILL to the processes of the given replicas at the same time. The kubelet restarts the processes.
func kill(ctx context.Context, pods ...*corev1.Pod) {
	GinkgoHelper()
	expectNoPanic(ctx)
	for _, pod := range pods {
		crash("killing the replica " + pod.Name)
		process := realcluster.ProcessOf(pod)
		Expect(process).NotTo(BeNil(), "this suite needs the test cluster on the same machine")
		Expect(process.Signal(syscall.SIGKILL)).To(Succeed())
	}
}

// expectRestart waits until a replica has restarted.
func expectRestart(ctx context.Context, replica *corev1.Pod) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pod := &corev1.Pod{}
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(replica), pod)).To(Succeed())
		g.Expect(pod.Status.ContainerStatuses[0].RestartCount).To(BeNumerically(">", replica.Status.ContainerStatuses[0].RestartCount))
	}).WithContext(ctx).Should(Succeed())
}

// dropLease deletes the lease, so that the next leader does not need to wait until the lease expires.
func dropLease(ctx context.Context) {
	GinkgoHelper()
	held := &coordinationv1.Lease{Namespace: operatorNamespace, Name: operatorLease}
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, held))).To(Succeed())
}

// expectNoPanic expects that the operator's logs contain no panic. The kubelet keeps the current and the previous log of each replica.
func expectNoPanic(ctx context.Context) {
	GinkgoHelper()
	for _, which := range []string{"--previous=false", "--previous"} {
		command := exec.CommandContext(ctx, "kubectl", "logs", "-n", operatorNamespace, "-l", operatorPods, "--prefix", "--tail=-1",
			"--ignore-errors", which)
		output, _ := command.CombinedOutput() // kubectl fails if there is no previous log
		for line := range strings.Lines(string(output)) {
			Expect(line).NotTo(Or(ContainSubstring("panic:"), ContainSubstring("Observed a panic"), ContainSubstring("panic in")))
		}
	}
	list := &corev1.PodList{}
	Expect(k8s.List(ctx, list, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(
		Succeed())
	for _, pod := range list.Items {
		for _, container := range pod.Status.ContainerStatuses {
			if ended := container.LastTerminationState.Terminated; ended != nil { // a Go program exits with code 2 after a panic
				Expect(ended.ExitCode).To(BeElementOf(int32(0), int32(1), int32(137), int32(255)), "%s ended: %s", pod.Name, ended.Reason)
				Expect(ended.Reason).NotTo(Equal("OOMKilled"))
			}
		}
	}
}
