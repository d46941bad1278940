package operator

import (
	"context"
	"errors"
	"net/http"
	"os"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/process"
	"github.com/echo-operator/echo-operator/internal/telemetry"
)

// Run runs the operator until ctx is done, and then returns nil. Complete must have been called on the options.
func Run(ctx context.Context, options Options) error {
	process.SetMemoryLimit(os.DirFS("/sys/fs/cgroup"))
	go process.ReturnMemoryAtRest(ctx)
	log := zap.New(zap.UseFlagOptions(&options.Log))
	ctrl.SetLogger(log)
	cluster, err := FindCluster(ctx, options.Version, v1.GroupVersion)
	if err != nil {
		return err
	}
	if options.missing, err = checkNamespaces(ctx, cluster, options.Namespaces); err != nil {
		return err
	}
	for namespace := range options.missing {
		log.Info("A namespace is not watched.", "namespace", namespace, "cause", options.missing.in(namespace))
	}
	operator, err := New(ctx, cluster, options)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	log.Info("starting", "version", options.Version, "namespaces", options.Namespaces, "maxReplicas", options.Policy.MaxReplicas,
		"podSecurity", options.Policy.PodSecurity.String(), "echoServerImage", options.Images.EchoServer)
	return operator.Start(ctx)
}

// trace creates spans for reconciles and for their requests to a cluster if traces are enabled.
func (o *Operator) trace(cluster *rest.Config, options Options) (err error) {
	if options.Traces {
		cluster.Wrap(traceRequests)
		o.traces, err = telemetry.NewTracer(options.Version, ctrl.Log.WithName("traces"))
	}
	return err
}

// traceRequests creates spans for the requests of reconciles. Watches and lease requests do not belong to a reconcile.
func traceRequests(next http.RoundTripper) http.RoundTripper {
	return otelhttp.NewTransport(next, otelhttp.WithFilter(func(r *http.Request) bool { return trace.SpanFromContext(r.Context()).IsRecording() }))
}

func (o *Operator) sendLastSpans() {
	if o.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastSpansTimeout)
	defer cancel()
	if err := o.traces.Shutdown(ctx); err != nil {
		ctrl.Log.Error(err, "The last spans were not sent.")
	}
}
