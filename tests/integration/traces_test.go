package integration

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("traces", Ordered, func() {
	var server *envtest.Environment
	var admin client.Client

	BeforeAll(func() {
		server = startAPIServer(configFolder + "/crd/bases")
		var err error
		admin, err = client.New(server.Config, client.Options{Scheme: scheme})
		Expect(err).NotTo(HaveOccurred())
	})

	// start runs the operator with more environment variables in one namespace.
	start := func(namespace string, environment ...string) *gexec.Session {
		GinkgoHelper()
		environment = append(environment, "KUBECONFIG="+writeKubeconfig(adminKubeconfig(server)), "WATCH_NAMESPACE="+namespace)
		return startProgram(environment, "--leader-elect", "--leader-election-namespace=default", "--health-probe-bind-address=0", "--metrics-bind-address=0")
	}
	// reconcile creates an Echo and waits for its status.
	reconcile := func(ctx SpecContext, namespace, name string) {
		GinkgoHelper()
		echo := support.Echo(namespace, name)
		Expect(admin.Create(ctx, echo)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
			g.Expect(echo.Status.Phase).To(Equal(v1.PhasePending))
		}).WithContext(ctx).Should(Succeed())
	}
	stop := func(session *gexec.Session) {
		GinkgoHelper()
		session.Terminate()
		Eventually(session, 10*time.Second).Should(gexec.Exit(0))
	}

	It("have a span for each pass, with one for each request, and none of watches and of the lease", SpecTimeout(time.Minute), func(ctx SpecContext) {
		c := startCollector(nil)
		session := start("default", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=100", "OTEL_EXPORTER_OTLP_HEADERS=x-token=t")
		reconcile(ctx, "default", "traced")
		Eventually(func(g Gomega) {
			all := c.spans()
			pass := slices.IndexFunc(all, func(s receivedSpan) bool { return s.text("echo_operator.generation") == "1" })
			g.Expect(pass).NotTo(Equal(-1))
			g.Expect(all[pass].Name).To(Equal("pass echo"))
			g.Expect(all[pass].text("echo_operator.namespace") + "/" + all[pass].text("echo_operator.name")).To(Equal("default/traced"))
			var requests []string
			for _, s := range all {
				if s.ParentSpanID == all[pass].SpanID {
					requests = append(requests, s.Name+" "+s.text("http.response.status_code"))
				}
			}
			g.Expect(requests).To(ConsistOf("patch echoes 200", "patch services 201", "patch deployments 201", "patch poddisruptionbudgets 201", "patch echoes/status 200"))
		}).WithContext(ctx).Should(Succeed())
		Expect(c.request().Header.Get("X-Token")).To(Equal("t"))

		By("what was not sent yet is sent at the end")
		stop(session)
		for _, s := range c.spans() {
			Expect(s.Name).NotTo(Or(ContainSubstring("watch"), ContainSubstring("leases")))
			if s.ParentSpanID == "" {
				Expect(s.Name).To(HavePrefix("pass "))
			}
		}
	})

	It("are not made if they are disabled", SpecTimeout(time.Minute), func(ctx SpecContext) {
		c := startCollector(nil)
		session := start("kube-public", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_SDK_DISABLED=true")
		reconcile(ctx, "kube-public", "silent")
		stop(session)
		Expect(c.spans()).To(BeEmpty())
	})

	It("delay neither passes nor the end if the collector does not answer", SpecTimeout(time.Minute), func(ctx SpecContext) {
		end := make(chan struct{})
		c := startCollector(func() { <-end })
		defer close(end)
		session := start("kube-system", "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=1")
		reconcile(ctx, "kube-system", "first")
		Eventually(c.spans).WithContext(ctx).ShouldNot(BeEmpty())
		reconcile(ctx, "kube-system", "second")
		stop(session)
		Expect(leaseHolder(ctx, Default, admin)).To(BeEmpty())
		Expect(session.Err).To(gbytes.Say("The last spans were not sent."))
	})
})

// traceCollector is a collector of OpenTelemetry that keeps what it receives.
type traceCollector struct {
	*httptest.Server
	lock     sync.Mutex
	requests []*http.Request
	received []receivedSpan
}

// receivedSpan is what the tests read of a span in OTLP's JSON.
type receivedSpan struct {
	Name, SpanID, ParentSpanID string
	Attributes                 []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
}

// text returns an attribute as text, empty if there is none.
func (s receivedSpan) text(key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return ""
}

// startCollector starts a collector, which runs until the end of the test. before is called before each answer, unless it is nil.
func startCollector(before func()) *traceCollector {
	GinkgoHelper()
	c := &traceCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body := struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []receivedSpan }
			}
		}{}
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			c.keep(r, body.ResourceSpans[0].ScopeSpans[0].Spans)
		}
		if before != nil {
			before()
		}
	}))
	DeferCleanup(c.Close)
	return c
}

func (c *traceCollector) keep(r *http.Request, spans []receivedSpan) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.requests, c.received = append(c.requests, r), append(c.received, spans...)
}

// spans returns what was received.
func (c *traceCollector) spans() []receivedSpan {
	c.lock.Lock()
	defer c.lock.Unlock()
	return slices.Clone(c.received)
}

// request returns the first request.
func (c *traceCollector) request() *http.Request {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.requests[0]
}
