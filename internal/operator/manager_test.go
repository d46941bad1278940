package operator

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func TestNewScheme_containsEveryUsedKind(t *testing.T) {
	scheme, err := newScheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	all := []runtime.Object{&v1.Echo{}, &v1.EchoList{}, &corev1.PodList{}, &corev1.NodeList{}, &appsv1.Deployment{},
		&coordinationv1.Lease{}}
	for _, kind := range objects.Table() {
		all = append(all, kind.NewObject())
	}
	for _, object := range all {
		if kinds, _, err := scheme.ObjectKinds(object); err != nil || len(kinds) != 1 {
			t.Errorf("add the API of %T to newScheme in manager.go: %v, %v", object, kinds, err)
		}
	}
}

func TestManagerOptions(t *testing.T) {
	g, scheme := NewWithT(t), runtime.NewScheme()
	given, err := parse(
		"--leader-elect --leader-election-namespace=operators --metrics-bind-address=:1 --health-probe-bind-address=:2 --watch-namespace=a,b",
		image)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(leaseNamespace(given)).To(Equal("operators"))
	elected := &Operator{lock: &resourcelock.LeaseLock{}}
	got := elected.managerOptions(scheme, given, nil)
	g.Expect(got.Scheme).To(BeIdenticalTo(scheme))
	g.Expect(got.HealthProbeBindAddress).To(Equal(":2"))
	g.Expect(got.Metrics.BindAddress).To(Equal(":1"))
	g.Expect(got.LeaderElection).To(BeTrue())
	g.Expect(got.LeaderElectionResourceLockInterface).To(BeIdenticalTo(elected.lock))
	g.Expect(got.LeaderElectionReleaseOnCancel).To(BeFalse())
	g.Expect([]*time.Duration{got.LeaseDuration, got.RenewDeadline, got.RetryPeriod}).To(HaveEach(BeNil()), "they are not the defaults")
	g.Expect(*got.GracefulShutdownTimeout + releaseTimeout + lastSpansTimeout).To(BeNumerically("<=", 10*time.Second))
	g.Expect(got.Cache.DefaultNamespaces).To(HaveLen(2))
	g.Expect(got.Cache.ReaderFailOnMissingInformer).To(BeTrue())
	given, err = parse("", image)
	g.Expect(err).NotTo(HaveOccurred())
	off := (&Operator{}).managerOptions(scheme, given, nil)
	g.Expect(off.LeaderElection).To(BeFalse())
	g.Expect(off.Cache.DefaultNamespaces).To(BeNil())
}

func TestManagerOptions_authorizeClientsOverHTTP1(t *testing.T) {
	got := (&Operator{}).managerOptions(runtime.NewScheme(), Options{}, nil).Metrics
	if !got.SecureServing || got.FilterProvider == nil {
		t.Errorf("everyone can read the metrics: %+v", got)
	}
	config := &tls.Config{NextProtos: []string{"h2", "http/1.1"}}
	for _, change := range got.TLSOpts {
		change(config)
	}
	NewWithT(t).Expect(config.NextProtos).To(HaveExactElements("http/1.1"))
}

// TestTraceRequests checks the spans of a reconcile's requests, including one that gets no response, and that other requests have none.
func TestTraceRequests(t *testing.T) {
	g := NewWithT(t)
	spans := tracetest.NewSpanRecorder()
	transport := traceRequests(promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPost {
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: http.StatusConflict, Body: http.NoBody}, nil
	}))
	send := func(ctx context.Context, method string) {
		if response, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, method, "/api/v1/namespaces/shop/services", nil)); err == nil {
			_ = response.Body.Close()
		}
	}
	send(t.Context(), http.MethodGet)
	for _, sampler := range []sdktrace.Sampler{sdktrace.AlwaysSample(), sdktrace.NeverSample()} {
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithSampler(sampler))
		ctx, reconcile := provider.Tracer("test").Start(t.Context(), "reconcile")
		send(ctx, http.MethodPatch)
		send(ctx, http.MethodPost)
		reconcile.End()
	}
	g.Expect(spans.Ended()).To(HaveLen(3))
	patch, post, parent := spans.Ended()[0], spans.Ended()[1], spans.Ended()[2]
	for _, request := range []sdktrace.ReadOnlySpan{patch, post} {
		g.Expect(request.Parent().SpanID()).To(Equal(parent.SpanContext().SpanID()))
		g.Expect(request.SpanKind()).To(Equal(trace.SpanKindClient))
		g.Expect(request.Status().Code).To(Equal(codes.Error))
	}
	g.Expect(patch.Attributes()).To(ContainElements(attribute.String("http.request.method", "PATCH"),
		attribute.String("url.full", "/api/v1/namespaces/shop/services"), attribute.Int("http.response.status_code", http.StatusConflict)))
	g.Expect(post.Status().Description).To(Equal("unexpected EOF"))
}

// TestFinishWrites cancels requests after a second.
func TestFinishWrites(t *testing.T) {
	for _, c := range []struct {
		method      string
		takes, ends time.Duration
		written     bool
	}{
		{http.MethodGet, 2 * time.Second, time.Second, false},
		{http.MethodPatch, 2 * time.Second, 2 * time.Second, true},
		{http.MethodPatch, time.Minute, time.Second + lastWritesTimeout, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			f := finishWrites{promhttp.RoundTripperFunc(func(r *http.Request) (*http.Response, error) {
				select {
				case <-r.Context().Done():
					return nil, r.Context().Err()
				case <-time.After(c.takes):
					return &http.Response{Body: http.NoBody}, r.Context().Err()
				}
			})}
			began := time.Now()
			response, err := f.RoundTrip(httptest.NewRequestWithContext(ctx, c.method, "/", nil)) //nolint:bodyclose // it has none
			if took := time.Since(began); took != c.ends || (err == nil) != c.written {
				t.Errorf("%s that takes %s: ended after %s: %v, %v", c.method, c.takes, took, response, err)
			}
		})
	}
}
