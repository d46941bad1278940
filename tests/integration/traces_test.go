package integration

import (
	"bytes"
	"net/http"
	"path"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/collector"
)

var _ = Describe("traces", Ordered, func() {
	var server *envtest.Environment
	var admin client.Client

	BeforeAll(func() { server, admin = startCluster() })

	// start runs an operator that watches one namespace and has additional environment variables.
	start := func(namespace string, environment ...string) *gexec.Session {
		GinkgoHelper()
		environment = append(environment, "KUBECONFIG="+writeKubeconfig(server.KubeConfig), "WATCH_NAMESPACE="+namespace)
		return startProgram(environment, "--leader-elect", "--leader-election-namespace=default", "--health-probe-bind-address=0",
			"--metrics-bind-address=0")
	}
	// reconcile creates an Echo, and waits until its status is set.
	reconcile := func(ctx SpecContext, namespace, name string) {
		GinkgoHelper()
		echo := support.Echo(namespace, name)
		Expect(admin.Create(ctx, echo)).To(Succeed())
		support.EventuallyObject(ctx, admin, echo).Should(HaveField("Status.Phase", v1.PhasePending))
	}
	stop := func(session *gexec.Session) {
		GinkgoHelper()
		session.Terminate()
		Eventually(session).Should(gexec.Exit(0))
	}

	It("have a span for each reconcile and each request, but not for watches and the lease", SpecTimeout(specTimeout), func(ctx SpecContext) {
		c := startCollector(nil)
		session := start("default", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_EXPORTER_OTLP_HEADERS=x-token=t")
		reconcile(ctx, "default", "traced")
		Eventually(func(g Gomega) {
			all := c.Spans()
			pass := slices.IndexFunc(all, func(s *tracepb.Span) bool { // the first reconcile ends before others begin
				return s.GetName() == "reconcile echo" && collector.Attributes(s.GetAttributes())["echo_operator.name"] == "traced"
			})
			g.Expect(pass).NotTo(Equal(-1))
			var requests []string
			for _, s := range all {
				if attributes := collector.Attributes(s.GetAttributes()); bytes.Equal(s.GetParentSpanId(), all[pass].GetSpanId()) {
					requests = append(requests, attributes["http.request.method"]+" "+path.Base(strings.Split(attributes["url.full"], "?")[0])+" "+
						attributes["http.response.status_code"])
				}
			}
			g.Expect(requests).To(ConsistOf("PATCH traced 200", "PATCH traced 201", "PATCH traced 201", "PATCH traced 201", "PATCH status 200"))
		}).WithContext(ctx).Should(Succeed())
		Expect(c.Requests()[0].Header.Get("X-Token")).To(Equal("t"))

		By("sending the remaining spans at the end")
		stop(session)
		for _, s := range c.Spans() {
			Expect(collector.Attributes(s.GetAttributes())["url.full"]).NotTo(Or(ContainSubstring("watch="), ContainSubstring("/leases")))
			if len(s.GetParentSpanId()) == 0 {
				Expect(s.GetName()).To(HavePrefix("reconcile "))
			}
		}
	})

	It("delay neither reconciles nor the end if the collector does not respond", SpecTimeout(specTimeout), func(ctx SpecContext) {
		end := make(chan struct{})
		c := startCollector(func(http.ResponseWriter, *http.Request) { <-end })
		defer close(end)
		session := start("kube-system", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=1")
		reconcile(ctx, "kube-system", "first")
		Eventually(c.Spans).WithContext(ctx).ShouldNot(BeEmpty())
		reconcile(ctx, "kube-system", "second")
		stop(session)
		Expect(leaseHolder(ctx, Default, admin, "default")).To(BeEmpty())
		Expect(session.Err).To(gbytes.Say("The last spans were not sent."))
	})
})

// startCollector starts a trace collector, which runs until the end of the test.
func startCollector(respond http.HandlerFunc) *collector.Collector {
	c := collector.New(respond)
	c.Start()
	DeferCleanup(c.Close)
	return c
}
