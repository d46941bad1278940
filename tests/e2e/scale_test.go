package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	// many is the documented number of Echoes for which the operator's default memory limit is sufficient.
	many = 2000
	// manyNamespaces is the number of namespaces that contain these Echoes. Whenever a Deployment changes, the Kubernetes controllers read
	// all pods in its namespace.
	manyNamespaces = 20
	// manyTimeout is how long an operation on all of these Echoes may take on a machine with two cores.
	manyTimeout  = 30 * time.Minute
	manyInterval = 5 * time.Second
)

var _ = Describe("the operator with 2,000 Echoes with two pods each", Label("scale"), func() {
	It("stays below its memory limit, and writes nothing after a restart", func(ctx SpecContext) {
		in := make([]string, manyNamespaces)
		for i := range in {
			in[i] = namespaces.New(ctx)
		}
		realcluster.StartHollowKubelet(ctx)
		realcluster.CreateHollowNode(ctx, k8s, in[0])
		creator := awaitLeader(ctx)
		createMany(ctx, in)
		eventuallyManyReady(ctx, in)
		expectBelowLimit(ctx, creator, "has created 2,000 Echoes")

		By("rolling out an annotation of their pods")
		annotateMany(ctx, in)
		eventuallyManyReady(ctx, in)
		before := eventuallyCalm(ctx, in)
		expectBelowLimit(ctx, creator, "has rolled out 2,000 Echoes")

		restarted := restartWithMany(ctx, in)
		Consistently(func(g Gomega) string { return cmp.Diff(before, versions(ctx, g, in)) }).
			WithContext(ctx).WithTimeout(6 * manyInterval).WithPolling(manyInterval).Should(BeEmpty())

		By("deleting them")
		for _, namespace := range in {
			realcluster.Kubectl(ctx, "delete", "echoes", "--all", "-n", namespace, "--wait=false")
		}
		Eventually(func(g Gomega) int { return len(echoesOf(ctx, g, in)) }).
			WithContext(ctx).WithTimeout(manyTimeout).WithPolling(manyInterval).Should(BeZero())
		expectBelowLimit(ctx, restarted, "has deleted 2,000 Echoes")
	}, SpecTimeout(5*manyTimeout))
})

// createMany creates the Echoes in several namespaces, each Echo with two pods on the hollow node.
func createMany(ctx context.Context, in []string) {
	GinkgoHelper()
	for i := range many {
		echo := support.Echo(in[i%len(in)], fmt.Sprintf("echo-%04d", i), func(e *v1.Echo) { e.Spec.Replicas = new(int32(2)) },
			realcluster.OnHollowNode(in[0]))
		Expect(k8s.Create(ctx, echo)).To(Succeed())
	}
}

// annotateMany changes an annotation on the pods of all Echoes.
func annotateMany(ctx context.Context, in []string) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"podAnnotations":{"example.org/restarted":"yes"}}}`))
	for _, echo := range echoesOf(ctx, Default, in) {
		Expect(k8s.Patch(ctx, &echo, patch)).To(Succeed())
	}
}

// restartWithMany stops all replicas of the operator, starts them again, waits until one has reconciled all Echoes, and returns its pod.
func restartWithMany(ctx context.Context, in []string) *corev1.Pod {
	GinkgoHelper()
	By("restarting the operator")
	scaleOperator(ctx, "0")
	scaleOperator(ctx, operatorReplicas)
	restarted := awaitLeader(ctx)
	metrics := metricsReader(ctx, in[0])
	reconciles := func() float64 {
		return support.SumOfMetric(metrics(ctx), "controller_runtime_reconcile_total", `controller="echo"`)
	}
	Eventually(reconciles).WithContext(ctx).WithPolling(manyInterval).Should(BeNumerically(">=", many))
	expectBelowLimit(ctx, restarted, "has been restarted with 2,000 Echoes")
	expectBelowLimit(ctx, &replicas(ctx, Default)[1], "waits with 2,000 Echoes")
	return restarted
}

func echoesOf(ctx context.Context, g Gomega, in []string) []v1.Echo {
	var all []v1.Echo
	for _, namespace := range in {
		list := &v1.EchoList{}
		g.Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		all = append(all, list.Items...)
	}
	return all
}

func eventuallyManyReady(ctx context.Context, in []string) {
	GinkgoHelper()
	Eventually(func(g Gomega) int {
		ready := 0
		for _, echo := range echoesOf(ctx, g, in) {
			if echo.Status.Phase == v1.PhaseReady && echo.Status.ObservedGeneration == echo.Generation && echo.Status.UpdatedReplicas == 2 {
				ready++
			}
		}
		return ready
	}).WithContext(ctx).WithTimeout(manyTimeout).WithPolling(manyInterval).Should(Equal(many))
}

// eventuallyCalm waits until no client, including the Kubernetes controllers, writes to the Echoes or to their objects. It returns the
// last result of versions.
func eventuallyCalm(ctx context.Context, in []string) map[string]string {
	GinkgoHelper()
	var before map[string]string
	Eventually(func(g Gomega) {
		now := versions(ctx, g, in)
		changed := cmp.Diff(before, now)
		before = now
		g.Expect(changed).To(BeEmpty())
	}).WithContext(ctx).WithTimeout(manyTimeout).WithPolling(3 * manyInterval).Should(Succeed())
	return before
}

// versions returns the resource versions of the Echoes, and of their objects and events. Each Echo has one Service, one Deployment, and one
// PodDisruptionBudget.
func versions(ctx context.Context, g Gomega, in []string) map[string]string {
	found := map[string]string{}
	for _, kind := range []schema.GroupVersionKind{
		v1.GroupVersion.WithKind("Echo"), corev1.SchemeGroupVersion.WithKind("Service"), appsv1.SchemeGroupVersion.WithKind("Deployment"),
		policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), eventsv1.SchemeGroupVersion.WithKind("Event"),
	} {
		count := 0
		for _, namespace := range in {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(kind)
			g.Expect(k8s.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
			count += len(list.Items)
			for _, object := range list.Items {
				found[kind.Kind+" "+namespace+"/"+object.Name] = object.ResourceVersion
			}
		}
		if kind.Kind != "Event" {
			g.Expect(count).To(Equal(many), kind.Kind)
		}
	}
	return found
}

// expectBelowLimit expects that the operator has not been killed, and that its memory has never reached the pod's limit. It adds the memory
// usage to the test report.
func expectBelowLimit(ctx context.Context, pod *corev1.Pod, what string) {
	GinkgoHelper()
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	Expect(pod.Status.ContainerStatuses).To(HaveLen(1))
	Expect(pod.Status.ContainerStatuses[0].RestartCount).To(BeZero())
	Expect(pod.Status.ContainerStatuses[0].LastTerminationState.Terminated).To(BeNil())
	limit := pod.Spec.Containers[0].Resources.Limits.Memory().Value()
	Expect(limit).NotTo(BeZero())
	operator := realcluster.ProcessOf(pod)
	Expect(operator).NotTo(BeNil(), "the operator's process is not on this machine")
	resident, err := process.Resident(operator.Pid)
	Expect(err).NotTo(HaveOccurred())
	peak := peakOf(operator.Pid)
	AddReportEntry("memory of an operator that "+what, ReportEntryVisibilityAlways, fmt.Sprintf(
		"%.1f MB; its container used at most %.1f MB of %.1f MB", megabytes(resident), megabytes(peak), megabytes(limit)))
	Expect(peak).To(BeNumerically("<", limit))
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

// peakOf returns the peak memory usage, in bytes, of a process's container. It excludes cached files that other containers read first.
func peakOf(pid int) int64 {
	GinkgoHelper()
	group := os.DirFS(fmt.Sprintf("/proc/%d/root/sys/fs/cgroup", pid))
	text, err := fs.ReadFile(group, "memory.peak")
	if err != nil {
		text, err = fs.ReadFile(group, "memory/memory.max_usage_in_bytes") // cgroup v1
	}
	Expect(err).NotTo(HaveOccurred())
	peak, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	Expect(err).NotTo(HaveOccurred())
	return peak
}
