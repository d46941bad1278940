package e2e

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// replicas returns the operator's pods that are not being deleted. The leader comes first.
func replicas(ctx context.Context, g Gomega) []corev1.Pod {
	lease, list := &coordinationv1.Lease{}, &corev1.PodList{}
	g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorLease}, lease)).To(Succeed())
	g.Expect(k8s.List(ctx, list, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})).To(
		Succeed())
	g.Expect(lease.Spec.HolderIdentity).NotTo(BeNil(), "the lease has no holder")
	found := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return !pod.DeletionTimestamp.IsZero() })
	leader := slices.IndexFunc(found, func(pod corev1.Pod) bool { return strings.HasPrefix(*lease.Spec.HolderIdentity, pod.Name+"_") })
	g.Expect(leader).NotTo(Equal(-1), "the leader is %s", *lease.Spec.HolderIdentity)
	found[0], found[leader] = found[leader], found[0]
	return found
}

// awaitLeader waits until a replica of the operator is running and holds the lease, and returns this replica's pod.
func awaitLeader(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var leader corev1.Pod
	Eventually(func(g Gomega) {
		leader = replicas(ctx, g)[0]
		g.Expect(leader.Status.ContainerStatuses).To(ConsistOf(HaveField("State.Running", Not(BeNil()))))
	}).WithContext(ctx).Should(Succeed())
	return &leader
}

// kill kills a replica. Force-deleting the replica's pod is not enough, because the kubelet sends SIGTERM first. If the cluster's
// processes are not reachable, kill only force-deletes the pod.
func kill(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	noteLogErrors(ctx)
	process := realcluster.ProcessOf(pod)
	if process == nil {
		Expect(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
		return
	}
	Expect(process.Signal(syscall.SIGSTOP)).To(Succeed())  // freeze the process, so that it does not exit before the pod is deleted
	defer func() { _ = process.Signal(syscall.SIGCONT) }() // an error is expected, because the process has usually exited
	Expect(k8s.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
	// The kubelet may kill the process first. A frozen process does not handle the kubelet's SIGTERM.
	Expect(process.Kill()).To(Or(Succeed(), MatchError(os.ErrProcessDone)))
}

// scaleOperator sets the operator's number of replicas, and waits until all replicas are ready.
func scaleOperator(ctx context.Context, number string) {
	GinkgoHelper()
	if number == "0" {
		noteLogErrors(ctx)
	}
	realcluster.Kubectl(ctx, "scale", "deployment", "-n", operatorNamespace, operatorDeployment, "--replicas="+number)
	realcluster.Kubectl(ctx, "rollout", "status", "deployment", "-n", operatorNamespace, operatorDeployment, waitTimeout)
	if number == "0" {
		realcluster.Kubectl(ctx, "wait", "--for=delete", "pod", "-n", operatorNamespace, "-l", operatorPods, waitTimeout)
	}
}

// awaitMetricsServer waits until a replica listens on its metrics port, because kubectl port-forward would otherwise fail.
func awaitMetricsServer(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	Eventually(realcluster.TryKubectl).WithContext(ctx).WithArguments("logs", "-n", operatorNamespace, pod.Name).
		Should(ContainSubstring("Serving metrics server"))
}

// noteLogErrors records the errors in the operator's logs, except errors that the tests cause.
func noteLogErrors(ctx context.Context) {
	GinkgoHelper()
	expected := []string{
		"because it is being terminated", // the namespace of a completed test rejects new events
		`"error":"namespaces \"e2e-`,     // or the namespace no longer exists
		`"name":"explained`,              // the specs about messages create these Echoes
		`"logger":"leaderelection"`,      // another replica was faster, and client-go retries
		`"error received after stop sequence was engaged","error":"leader election lost"`, // a leader that shuts down gracefully logs this
	}
	var text string
	Eventually(func(ctx context.Context) (err error) { // a replica that is still starting has no log yet
		text, err = realcluster.TryKubectl(ctx, "logs", "-n", operatorNamespace, "-l", operatorPods, "--tail=-1")
		return err
	}).WithContext(ctx).Should(Succeed())
	for line := range strings.Lines(text) {
		isExpected := slices.ContainsFunc(expected, func(e string) bool { return strings.Contains(line, e) })
		if strings.Contains(line, `"level":"error"`) && !isExpected && !slices.Contains(logErrors, line) {
			logErrors = append(logErrors, line)
		}
	}
}
