// Package operator assembles the operator: its settings, its startup checks, and its manager with caches and reconcilers.
//
// Both the program and the integration tests use the package.
package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
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
	"github.com/echo-operator/echo-operator/internal/openshift"
	"github.com/echo-operator/echo-operator/internal/telemetry"
)

const (
	leaseName = "echo-operator.example.com"
	// eventReporter is the reporting controller in the operator's events.
	eventReporter = "echo-operator"
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
	// Memories holds functions that each clear one memory of a reconciler. No decision depends on a memory, as the tests in
	// tests/reliability show.
	Memories []func()

	supervisor supervisor
	synced     Synced
	offered    offered
	lock       resourcelock.Interface // nil if leader election is disabled
	traces     *telemetry.Tracer      // nil if traces are disabled
}

// New assembles the operator. Complete must have been called on the options. Canceling the context stops only the discovery of the
// cluster's APIs.
func New(ctx context.Context, cluster *rest.Config, options Options) (*Operator, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	measured := telemetry.NewMetrics(time.Now)
	operator := &Operator{supervisor: supervisor{
		namespaces: options.Namespaces, missing: options.missing, tlsChanged: make(chan struct{}), log: ctrl.Log}}
	cluster = rest.CopyConfig(cluster)
	cluster.Wrap(measured.Requests.Wrap)
	if err := operator.trace(cluster, options); err != nil {
		return nil, err
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
	if err := operator.addManager(cluster, scheme, options, measured.Requests.Wrap); err != nil {
		return nil, err
	}
	if err := operator.addReconcilers(options, measured); err != nil {
		return nil, err
	}
	if err := measured.Register(options.Metrics, options.Version, operator.Elected()); err != nil {
		return nil, err
	}
	if err := operator.offered.tls.Watch(operator.Manager, sync.OnceFunc(func() { close(operator.supervisor.tlsChanged) })); err != nil {
		return nil, err
	}
	if err := operator.addProbes(); err != nil {
		return nil, err
	}
	if err := operator.addAdditions(options); err != nil {
		return nil, err
	}
	return operator, addStatusAPI(operator.Manager, options)
}

// addManager creates the manager and, for leader election, the lock. The status API sends its requests to the API server through count.
func (o *Operator) addManager(cluster *rest.Config, scheme *runtime.Scheme, options Options, count transport.WrapperFunc) error {
	var err error
	if options.LeaderElect {
		if o.lock, err = newLock(cluster, leaseNamespace(options)); err != nil {
			return err
		}
	}
	if o.Manager, err = ctrl.NewManager(cluster, o.managerOptions(scheme, options, count)); err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	o.supervisor.apis.Elected = o.Elected()
	o.synced = make(Synced)
	return o.Add(o.synced)
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
			if ended == nil {
				o.releaseLease(ctx)
			}
			return errors.Join(err, ended)
		default:
			go o.synced.Then(end)
			return err
		}
	}
}

// newScheme returns a scheme with the types that the operator reads and writes. A scheme with all Kubernetes types would use a tenth of the
// operator's memory.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	types := runtime.NewSchemeBuilder(
		v1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme,
		coordinationv1.AddToScheme, rbacv1.AddToScheme, gatewayv1.Install, openshift.AddAPIServer)
	return scheme, types.AddToScheme(scheme)
}

func (o *Operator) addReconcilers(options Options, measured *telemetry.Metrics) error {
	common := controllers.Dependencies{
		Client:   o.GetClient(),
		Live:     o.GetAPIReader(),
		Recorder: o.GetEventRecorder(eventReporter),
		Images:   options.Images,
		TLS:      o.offered.tlsOfEchoes(),
		Routes:   o.offered.routes(),
		Policy:   options.Policy,
		Metrics:  measured,
		Traces:   o.traces,
		Now:      time.Now,
	}
	labeled, err := newLabeledPods(o.Manager, options.Namespaces)
	if err != nil {
		return err
	}
	o.Echoes = &controllers.EchoReconciler{Dependencies: common, Gateways: o.offered.gatewayAPI(), Labeled: labeled}
	if err := o.Echoes.SetupWithManager(o.Manager); err != nil {
		return err
	}
	checks := &controllers.CheckReconciler{Dependencies: common}
	if err := checks.SetupWithManager(o.Manager); err != nil {
		return err
	}
	o.Companions = &controllers.CompanionReconciler{Dependencies: common, Labeled: labeled}
	o.Memories = slices.Concat(o.Echoes.Memories(), checks.Memories(), o.Companions.Memories(), []func(){o.supervisor.apis.Drop})
	if err := o.Companions.SetupWithManager(o.Manager); err != nil || !o.offered.podMonitors() {
		return err
	}
	monitors := &controllers.PodMonitorReconciler{Dependencies: common, Cached: o.GetCache()}
	o.Memories = append(o.Memories, monitors.Memories()...)
	return monitors.SetupWithManager(o.Manager)
}

// addStatusAPI serves the status API on the metrics endpoint.
func addStatusAPI(mgr manager.Manager, options Options) error {
	api := &echoesapi.Server{
		Cached:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Elected:    mgr.Elected(),
		Namespaces: options.Namespaces,
	}
	if options.LeaderElect {
		api.Lease = client.ObjectKey{Namespace: leaseNamespace(options), Name: leaseName}
	}
	return api.AddTo(mgr)
}

// leaseNamespace returns the lease's namespace, which defaults to the pod's namespace. Outside a cluster, there is no default.
func leaseNamespace(options Options) string {
	if options.LeaderElectionNamespace != "" {
		return options.LeaderElectionNamespace
	}
	own, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return string(own)
}

func (o *Operator) managerOptions(scheme *runtime.Scheme, options Options, count transport.WrapperFunc) ctrl.Options {
	timeout := shutdownTimeout
	all := ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cacheOptions(options.Namespaces, o.offered.watched(), o.supervisor.apis.Miss),
		HealthProbeBindAddress:  options.ProbeAddress,
		GracefulShutdownTimeout: &timeout,
		Metrics:                 metricsOptions(options, o.offered.tls, count),
	}
	// LeaderElectionReleaseOnCancel is not set: after a failed renewal, client-go would release the lease while the reconcilers still run.
	if o.lock != nil {
		all.LeaderElection, all.LeaderElectionID, all.LeaderElectionResourceLockInterface = true, leaseName, o.lock
	}
	return all
}

// metricsOptions returns the settings of the endpoint for metrics and the status API.
func metricsOptions(options Options, profile openshift.TLSProfile, count transport.WrapperFunc) metricsserver.Options {
	certificate := openshift.NewServingCertificate(options.MetricsCertPath, ctrl.Log.WithName("tls"))
	return metricsserver.Options{
		BindAddress:    options.MetricsAddress,
		SecureServing:  true,
		FilterProvider: echoesapi.AccessFilter(count),
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			// HTTP/2 has no benefit for scrapers and has had denial-of-service vulnerabilities.
			c.NextProtos = []string{"http/1.1"}
			c.GetCertificate = certificate.Get
			profile.Restrict(c)
		}},
	}
}

// addProbes adds the liveness and readiness checks. Each namespace that the operator does not watch because rights are missing has a check
// that always fails. This check only informs people: the Deployment's readiness probe requests only the check of the caches.
func (o *Operator) addProbes() error {
	received, err := NewInformers(context.Background(), o.GetCache(), o.Companions.Labeled, o.offered.watched().Objects())
	if err != nil {
		return err
	}
	o.supervisor.pending = received.Pending
	problems := []error{o.AddHealthzCheck("ping", healthz.Ping), o.AddReadyzCheck("caches", received.Check)}
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

// releaseLease releases the lease after all runnables have stopped, so that another replica does not have to wait until the lease expires.
func (o *Operator) releaseLease(ctx context.Context) {
	if o.lock == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := release(ctx, o.lock); err != nil {
		ctrl.Log.Error(err, "The lease was not released. Another replica becomes the leader when the lease expires.")
	}
}

// release releases the lease if the lock still holds it. The API server rejects the update if another client has changed the lease since
// the lock read it.
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
