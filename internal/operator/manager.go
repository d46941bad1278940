// Package operator assembles the operator: its settings, its startup checks, its caches, the discovery of optional APIs, and its
// reconcilers.
//
// Both the program and the integration tests use the package.
package operator

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/echoesapi"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/openshift"
	"github.com/echo-operator/echo-operator/internal/telemetry"
)

const (
	leaseName = "echo-operator.example.com"
	// eventReporter is the reporting controller in the operator's events.
	eventReporter = "echo-operator"
	// lastWritesTimeout is the time in which a request and its response cross the network if each takes at most 1 s.
	lastWritesTimeout = 2 * time.Second
	// longestWrite limits the time for a write and its response, as for a reconcile.
	longestWrite = time.Minute
	// shutdownTimeout leaves time to release the lease and to send the last spans within the 10 s in which the operator must stop.
	shutdownTimeout = 6 * time.Second
	// lastSpansTimeout limits the time for sending the last spans after the shutdown, when no client is waiting.
	lastSpansTimeout = time.Second
)

// Operator is an operator that is ready to start: its manager, and the reconcilers that the manager runs.
type Operator struct {
	manager.Manager
	Echoes     *controllers.EchoReconciler
	Companions *controllers.CompanionReconciler
	// Memories holds functions that each clear one memory of a reconciler. Without it, the outcome is the same, as tests/reliability shows.
	Memories []func()

	supervisor supervisor
	synced     synced
	// apis and tls are the optional APIs and the TLS profile that the cluster offered when the operator started. The operator sets up caches
	// and watches for these APIs only once.
	apis   findings
	tls    openshift.TLSProfile
	lock   resourcelock.Interface // nil if leader election is disabled
	traces *telemetry.Tracer      // nil if traces are disabled
}

// New assembles the operator. Call Complete on the options before. Canceling the context stops only the discovery of the cluster's APIs.
func New(ctx context.Context, cluster *rest.Config, options Options) (*Operator, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	measured := telemetry.NewMetrics(time.Now)
	operator := &Operator{supervisor: supervisor{
		namespaces: options.Namespaces, missing: options.missing, tlsChanged: make(chan struct{}), log: ctrl.Log}}
	cluster = rest.CopyConfig(cluster)
	cluster.Wrap(measured.CountRequests)
	if options.Traces {
		cluster.Wrap(traceRequests)
		if operator.traces, err = telemetry.NewTracer(options.Version, ctrl.Log.WithName("traces")); err != nil {
			return nil, err
		}
	}
	if operator.supervisor.ask, err = newAskRights(cluster); err != nil {
		return nil, err
	}
	if options.Namespaces, err = options.missing.among(options.Namespaces); err != nil {
		return nil, err
	}
	if err := operator.discover(ctx, cluster, options); err != nil {
		return nil, err
	}
	if options.LeaderElect {
		if operator.lock, err = newLock(cluster, leaseNamespace(options)); err != nil {
			return nil, err
		}
		cluster.Wrap(func(next http.RoundTripper) http.RoundTripper { return finishWrites{next} })
	}
	if operator.Manager, err = ctrl.NewManager(cluster, operator.managerOptions(scheme, options, measured.CountRequests)); err != nil {
		return nil, fmt.Errorf("setting up: %w", err)
	}
	operator.supervisor.apis.elected = operator.Elected()
	operator.synced = make(synced)
	if err := operator.addReconcilers(options, measured); err != nil {
		return nil, err
	}
	api := &echoesapi.Server{
		Cached: operator.GetClient(), Live: operator.GetAPIReader(), Elected: operator.Elected(), Namespaces: options.Namespaces}
	if options.LeaderElect {
		api.Lease = client.ObjectKey{Namespace: leaseNamespace(options), Name: leaseName}
	}
	return operator, errors.Join(
		operator.Add(operator.synced),
		measured.Register(options.Metrics, options.Version, operator.Elected()),
		operator.tls.Watch(operator.Manager, sync.OnceFunc(func() { close(operator.supervisor.tlsChanged) })),
		operator.addProbes(),
		operator.addAdditions(options),
		api.AddTo(operator.Manager), // on the metrics endpoint
	)
}

// Start runs the operator until ctx is done or the process must restart. It returns nil if the operator shut down cleanly.
func (o *Operator) Start(ctx context.Context) error {
	defer o.sendLastSpans()
	managed, end := context.WithCancel(context.WithoutCancel(ctx))
	ctx, endSupervision := context.WithCancel(ctx)
	defer endSupervision()
	stopped, supervised := make(chan error, 1), make(chan error, 1)
	go func() { stopped <- o.Manager.Start(managed) }()
	go func() { supervised <- o.supervisor.run(ctx) }()
	select {
	case err := <-stopped:
		end()
		return err
	case err := <-supervised:
		select {
		case <-o.synced:
			end()
			ended := <-stopped
			if ended == nil && o.lock != nil {
				// No runnable needs the lease any more, and another replica does not have to wait until the lease expires.
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
				defer cancel()
				if err := release(ctx, o.lock); err != nil {
					ctrl.Log.Error(err, "The lease was not released. Another replica becomes the leader when the lease expires.")
				}
			}
			return errors.Join(err, ended)
		default:
			go func() {
				<-o.synced // the manager cannot stop earlier
				end()
			}()
			return err
		}
	}
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

// newScheme returns a scheme with the types that the operator reads and writes. All Kubernetes types would use a tenth of its memory.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	types := runtime.NewSchemeBuilder(
		v1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
		coordinationv1.AddToScheme, gatewayv1.Install, openshift.AddAPIServer)
	return scheme, types.AddToScheme(scheme)
}

// traceRequests creates spans for the requests of reconciles. Watches and lease requests do not belong to a reconcile.
func traceRequests(next http.RoundTripper) http.RoundTripper {
	return otelhttp.NewTransport(next, otelhttp.WithFilter(func(r *http.Request) bool {
		return trace.SpanFromContext(r.Context()).IsRecording()
	}))
}

// finishWrites lets a write that was sent before its context was canceled end, so that no write arrives after the lease is released.
type finishWrites struct{ next http.RoundTripper }

func (f finishWrites) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || r.Context().Err() != nil {
		return f.next.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), longestWrite)
	defer context.AfterFunc(r.Context(), func() { time.AfterFunc(lastWritesTimeout, cancel) })()
	return f.next.RoundTrip(r.WithContext(ctx))
}

func (o *Operator) addReconcilers(options Options, measured *telemetry.Metrics) error {
	minVersion, ciphers := o.tls.Names()
	common := controllers.Dependencies{
		Client:   o.GetClient(),
		Live:     o.GetAPIReader(),
		Recorder: o.GetEventRecorder(eventReporter),
		Images:   options.Images,
		Proxies:  options.Proxies,
		TLS:      objects.TLSProfile{MinVersion: minVersion, Ciphers: ciphers},
		// A cluster that does not report whether it serves Routes is an OpenShift cluster whose Route server is down. In such a cluster, an
		// Ingress would lose its Route if the operator changed the Ingress as it does in other clusters.
		Routes:  o.apis[openshift.RouteKind()].access != notServed,
		Policy:  options.Policy,
		Metrics: measured,
		Traces:  o.traces,
		Now:     time.Now,
	}
	labeled, err := newLabeledPods(o.Manager, options.Namespaces)
	if err != nil {
		return err
	}
	o.Echoes = &controllers.EchoReconciler{Dependencies: common, Gateways: o.gatewayAPI(), Labeled: labeled}
	if err := o.Echoes.SetupWithManager(o.Manager); err != nil {
		return err
	}
	checks := &controllers.CheckReconciler{Dependencies: common}
	if err := checks.SetupWithManager(o.Manager); err != nil {
		return err
	}
	o.Companions = &controllers.CompanionReconciler{Dependencies: common, Labeled: labeled}
	o.Memories = slices.Concat(o.Echoes.Memories(), checks.Memories(), o.Companions.Memories(), []func(){
		func() { o.supervisor.apis.seen.Store("") }})
	if err := o.Companions.SetupWithManager(o.Manager); err != nil || !o.podMonitors() {
		return err
	}
	monitors := &controllers.PodMonitorReconciler{Dependencies: common, Cached: o.GetCache()}
	o.Memories = append(o.Memories, monitors.Memories()...)
	return monitors.SetupWithManager(o.Manager)
}

// leaseNamespace returns the lease's namespace, which defaults to the pod's namespace. Outside a cluster, there is no default.
func leaseNamespace(options Options) string {
	own, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return cmp.Or(options.LeaderElectionNamespace, string(own))
}

// managerOptions returns the settings of the manager. Its metrics endpoint, which also serves the status API, sends its requests to the API
// server through count.
func (o *Operator) managerOptions(scheme *runtime.Scheme, options Options, count transport.WrapperFunc) ctrl.Options {
	certificate := &openshift.ServingCertificate{Folder: options.MetricsCertPath, Log: ctrl.Log.WithName("tls")}
	all := ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cacheOptions(options.Namespaces, o.watched(), func() { o.supervisor.apis.missed.Store(true) }),
		HealthProbeBindAddress:  options.ProbeAddress,
		GracefulShutdownTimeout: new(shutdownTimeout),
		Metrics: metricsserver.Options{
			BindAddress:    options.MetricsAddress,
			SecureServing:  true,
			FilterProvider: echoesapi.AccessFilter(count),
			TLSOpts: []func(*tls.Config){func(c *tls.Config) {
				// HTTP/2 has no benefit for scrapers and has had denial-of-service vulnerabilities.
				c.NextProtos = []string{"http/1.1"}
				c.GetCertificate = certificate.Get
				o.tls.Restrict(c)
			}},
		},
	}
	// LeaderElectionReleaseOnCancel is not set: after a failed renewal, client-go would release the lease while the reconcilers still run.
	if o.lock != nil {
		all.LeaderElection, all.LeaderElectionID, all.LeaderElectionResourceLockInterface = true, leaseName, o.lock
	}
	return all
}

// addProbes adds the liveness and readiness checks. Each namespace that the operator does not watch because rights are missing has a check
// that always fails. This check only informs people: the Deployment's readiness probe requests only the check of the caches.
func (o *Operator) addProbes() error {
	received, err := newInformers(context.Background(), o.GetCache(), o.Companions.Labeled, o.watched())
	if err != nil {
		return err
	}
	o.supervisor.pending = received.pending
	problems := []error{o.AddHealthzCheck("ping", healthz.Ping), o.AddReadyzCheck("caches", received.check)}
	for namespace := range o.supervisor.missing {
		cause := errors.New(o.supervisor.missing.in(namespace))
		problems = append(problems, o.AddReadyzCheck("namespace-"+namespace, func(*http.Request) error { return cause }))
	}
	return errors.Join(problems...)
}

const (
	// lockTimeout limits a request for the lease to half of the renew deadline, so that one lost response never costs a leader its lease.
	lockTimeout = 5 * time.Second
	// releaseTimeout limits the two requests that release the lease.
	releaseTimeout = 3 * time.Second
)

var errNoLeaseNamespace = errors.New("the namespace of the lease is unknown: outside a cluster, set --leader-election-namespace")

// newLock returns client-go's lock on the lease in a namespace, with an identity that is unique to this process. controller-runtime's lock
// would not reveal the identity.
func newLock(cluster *rest.Config, namespace string) (resourcelock.Interface, error) {
	if namespace == "" {
		return nil, errNoLeaseNamespace
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	quick := rest.CopyConfig(cluster)
	quick.Timeout = lockTimeout
	leases, err := coordinationclient.NewForConfig(quick)
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, err
}

// release releases the lease if the lock still holds it. The API server rejects the update if the lease has changed since the lock read it.
func release(ctx context.Context, lock resourcelock.Interface) error {
	held, _, err := lock.Get(ctx)
	if err != nil || held.HolderIdentity != lock.Identity() {
		return client.IgnoreNotFound(err)
	}
	now := metav1.Now()
	return lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, LeaderTransitions: held.LeaderTransitions, AcquireTime: now, RenewTime: now,
	})
}
