package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// The test cluster does not enforce NetworkPolicies. Instead, nftables rules in the network namespaces of a check's pods block the
// connections that a NetworkPolicy would block. The rules drop responses instead of requests, because the kernel, unlike a NetworkPolicy,
// would report an error for a dropped request.
const (
	openNetwork   = ``
	closedNetwork = `table inet closed { chain in { type filter hook input priority 0; policy drop; iifname "lo" accept; }; }`
	onlyDNS       = `table inet closed { chain in { type filter hook input priority 0; policy drop; iifname "lo" accept; udp sport 53 accept; }; }`
)

// deadAddress is reserved for documentation (RFC 5737), so no machine has it.
const deadAddress = "192.0.2.1"

var _ = Describe("a check", func() {
	It("has no result in a closed network, and fails while the gateway is dead", func(ctx SpecContext) {
		namespace := namespaces.New(ctx)
		host := "gateway." + namespace + ".svc"
		echo := support.Echo(namespace, "closed", func(e *v1.Echo) {
			e.Spec.Replicas = new(int32(1))
			e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: host}
			e.Spec.Checks = []v1.EchoCheck{{Name: "path", Schedule: "0 0 1 1 *", Groups: []string{"request"}}} // the test itself runs the check
		})
		createReady(ctx, echo)
		createGateways(ctx, echo)

		By("an open network")
		runCheck(ctx, echo, openNetwork)
		expectChecked(ctx, echo, v1.CheckPassed, "")

		By("a network that drops everything")
		runCheck(ctx, echo, closedNetwork)
		expectChecked(ctx, echo, v1.CheckUnknown, "The DNS resolver of the cluster does not respond. Allow egress to its port 53")

		By("a network that drops everything but DNS")
		runCheck(ctx, echo, onlyDNS)
		expectChecked(ctx, echo, v1.CheckUnknown, "neither "+host+":80 nor the Service responds. Allow egress to both")
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.Message", ContainSubstring("Check path has no result: Requests do not seem")))
		Eventually(checkEvents).WithContext(ctx).WithArguments(echo).Should(ConsistOf("CheckPassed", "CheckUnknown", "CheckUnknown"))

		By("a dead gateway in an open network")
		dead := "dead." + namespace + ".svc"
		edit(ctx, echo, func(s *v1.EchoSpec) { s.Ingress.Host = dead })
		runCheck(ctx, echo, openNetwork)
		expectChecked(ctx, echo, v1.CheckFailed, "Either the path is down, or a NetworkPolicy drops egress to "+dead+":80.")
	}, SpecTimeout(15*time.Minute))
})

// createGateways creates two Services that stand in for gateways. One routes to an Echo's pods, and the other to a silent address.
func createGateways(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	own := &corev1.Service{}
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), own)).To(Succeed())
	for name, selector := range map[string]map[string]string{"gateway": own.Spec.Selector, "dead": nil} {
		Expect(k8s.Create(ctx, &corev1.Service{Namespace: echo.Namespace, Name: name,
			Spec: corev1.ServiceSpec{Selector: selector,
				Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: own.Spec.Ports[0].TargetPort}}}})).To(Succeed())
	}
	Expect(k8s.Create(ctx, &discoveryv1.EndpointSlice{
		Namespace: echo.Namespace, Name: "dead", Labels: map[string]string{discoveryv1.LabelServiceName: "dead"},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{deadAddress}}},
		Ports: []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(80))}},
	})).To(Succeed())
	Eventually(func(ctx context.Context) string {
		return realcluster.Kubectl(ctx, "get", "endpointslices", "-n", echo.Namespace, "-l", discoveryv1.LabelServiceName+"=gateway",
			"-o", "jsonpath={.items[*].endpoints[*].conditions.ready}")
	}).WithContext(ctx).Should(Equal("true"))
}

// runCheck runs an Echo's check in a network namespace with the given nftables rules.
func runCheck(ctx context.Context, echo *v1.Echo, rules string) {
	GinkgoHelper()
	cronJob := &batchv1.CronJob{}
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, objects.CronJob(echo, "path").Key, cronJob)).To(Succeed())
		g.Expect(cronJob.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Args).To(ContainElement("http://" + echo.Spec.Ingress.Host))
	}).WithContext(ctx).Should(Succeed())
	job := &batchv1.Job{Namespace: echo.Namespace, GenerateName: "path-", Spec: cronJob.Spec.JobTemplate.Spec}
	job.Spec.Template.Spec.InitContainers = []corev1.Container{gate()}
	Expect(k8s.Create(ctx, job)).To(Succeed())
	process := gateOf(ctx, job)
	apply := exec.CommandContext(ctx, "nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", process.Pid), "nft", "-f", "-")
	apply.Stdin = strings.NewReader(rules)
	output, err := apply.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	Expect(process.Signal(syscall.SIGTERM)).To(Succeed())
	realcluster.Kubectl(ctx, "wait", "-n", job.Namespace, "--for=condition=Complete", "job/"+job.Name, waitTimeout)
}

// gate returns a container that runs until it receives SIGTERM. The other containers of the pod start only after the gate has exited.
func gate() corev1.Container {
	container := realcluster.WebPod("", "", "").Spec.Containers[0]
	container.Name = "gate"
	return container
}

// gateOf waits until the gate in a Job's pod is running, and returns the gate's process.
func gateOf(ctx context.Context, job *batchv1.Job) *os.Process {
	GinkgoHelper()
	list := &corev1.PodList{}
	Eventually(func(g Gomega) {
		g.Expect(k8s.List(ctx, list, client.InNamespace(job.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})).To(Succeed())
		g.Expect(list.Items).To(HaveLen(1))
		g.Expect(list.Items[0].Status.InitContainerStatuses).To(ConsistOf(HaveField("State.Running", Not(BeNil()))))
	}).WithContext(ctx).Should(Succeed())
	process := realcluster.ProcessIn(&list.Items[0].Status.InitContainerStatuses[0])
	if process == nil {
		Skip("the pods run on another machine, or this user is not root: nothing can drop their packets")
	}
	return process
}

// expectChecked waits until an Echo's check has the given result and message.
func expectChecked(ctx context.Context, echo *v1.Echo, result v1.CheckResult, message string) {
	GinkgoHelper()
	support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status.Checks",
		ConsistOf(And(HaveField("Result", result), HaveField("Message", ContainSubstring(message))))))
}

// checkEvents returns the reasons of the events for an Echo's check.
func checkEvents(ctx context.Context, echo *v1.Echo) (reasons []string) {
	GinkgoHelper()
	for _, e := range support.EventsOf(ctx, Default, k8s, echo) {
		if strings.HasPrefix(e.Reason, "Check") {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}
