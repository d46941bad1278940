package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/window"
)

const (
	leaseName = "echo-operator.example.com"
	// shutdownTimeout leaves time to give the lease back within the 10 s that a stop may take.
	shutdownTimeout = 8 * time.Second
)

// newManager puts the operator together; nothing runs yet.
func newManager(cluster *rest.Config, options options, level *window.LogLevel) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cluster, managerOptions(scheme, options))
	if err != nil {
		return nil, fmt.Errorf("setting up: %w", err)
	}
	if err := addProbes(mgr); err != nil {
		return nil, err
	}
	journal := &controllers.Journal{Now: time.Now}
	reconciler := &controllers.EchoReconciler{
		Client:      mgr.GetClient(),
		Live:        mgr.GetAPIReader(),
		Recorder:    journal.Recorder(mgr.GetEventRecorder("echo-operator")),
		Images:      controllers.Images{EchoServer: options.echoServerImage},
		MaxReplicas: options.maxReplicas,
		Now:         time.Now,
		Journal:     journal,
	}
	if err := reconciler.SetupWithManager(mgr); err != nil {
		return nil, err
	}
	if err := addCompanions(mgr, reconciler, options); err != nil {
		return nil, err
	}
	return mgr, addWindow(mgr, journal, options, level)
}

// addCompanions has the manager look after companions, too.
func addCompanions(mgr manager.Manager, echoes *controllers.EchoReconciler, options options) error {
	labelled, err := controllers.LabelledPods(mgr, namespaces(options.namespaces))
	if err != nil {
		return err
	}
	companions := &controllers.CompanionReconciler{
		Client:      echoes.Client,
		Live:        echoes.Live,
		Labelled:    labelled,
		Recorder:    echoes.Recorder,
		Images:      echoes.Images,
		MaxReplicas: echoes.MaxReplicas,
		Now:         echoes.Now,
	}
	return companions.SetupWithManager(mgr)
}

// addWindow has the manager's endpoint tell about the operator.
func addWindow(mgr manager.Manager, journal *controllers.Journal, options options, level *window.LogLevel) error {
	replica, err := os.Hostname()
	if err != nil {
		return err
	}
	w := &window.Window{
		Cached:     mgr.GetClient(),
		Live:       mgr.GetAPIReader(),
		Journal:    journal,
		Metrics:    metrics.Registry,
		Elected:    mgr.Elected(),
		Replica:    replica,
		Version:    version,
		Namespaces: options.namespaces,
		LogLevel:   level,
	}
	if options.leaderElect {
		w.Lease = client.ObjectKey{Namespace: leaseNamespace(options), Name: leaseName}
	}
	return w.AddTo(mgr)
}

// leaseNamespace is where the lease is: the manager, too, takes the pod's own namespace by default, and refuses to begin without one.
func leaseNamespace(options options) string {
	if options.leaderElectionNamespace != "" {
		return options.leaderElectionNamespace
	}
	own, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	return string(own)
}

func managerOptions(scheme *runtime.Scheme, options options) ctrl.Options {
	timeout := shutdownTimeout
	return ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cacheOptions(options.namespaces),
		HealthProbeBindAddress:        options.probeAddress,
		LeaderElection:                options.leaderElect,
		LeaderElectionID:              leaseName,
		LeaderElectionNamespace:       options.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true, // the process ends as soon as the manager has stopped
		GracefulShutdownTimeout:       &timeout,
		Metrics: metricsserver.Options{
			BindAddress:    options.metricsAddress,
			SecureServing:  true,
			FilterProvider: window.Guard,
			// HTTP/2 brings nothing to a scraper and has had denial-of-service defects.
			TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} }},
		},
	}
}

// cacheOptions keeps in memory only what the operator made, without the record of who wrote which field.
func cacheOptions(watched []string) cache.Options {
	made := cache.ByObject{Label: controllers.ManagedSelector()}
	o := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
		DefaultNamespaces:           namespaces(watched),
		ByObject:                    map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: controllers.SlimNode}},
	}
	for _, kind := range append(controllers.ChildKinds(), &corev1.Pod{}) {
		o.ByObject[kind] = made
	}
	return o
}

// namespaces are those that a cache watches, nil for all.
func namespaces(watched []string) map[string]cache.Config {
	if len(watched) == 0 {
		return nil
	}
	all := make(map[string]cache.Config, len(watched))
	for _, namespace := range watched {
		all[namespace] = cache.Config{}
	}
	return all
}

func addProbes(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("ping", healthz.Ping)
}
