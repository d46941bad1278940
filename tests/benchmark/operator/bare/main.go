// bare is a manager with controller-runtime's defaults that watches the same kinds as the operator, but does nothing for an Echo. The
// benchmark compares the operator's start with bare's start.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bare: "+err.Error())
		os.Exit(1)
	}
}

// run accepts the flags that the benchmark passes to the operator, and reads KUBECONFIG.
func run() error {
	options := ctrl.Options{Scheme: runtime.NewScheme(), Metrics: metricsserver.Options{SecureServing: true}}
	flag.StringVar(&options.Metrics.BindAddress, "metrics-bind-address", "0", "the address of the metrics")
	flag.String("metrics-cert-path", "", "ignored: controller-runtime generates a certificate")
	flag.StringVar(&options.HealthProbeBindAddress, "health-probe-bind-address", "0", "the address of the probes")
	flag.Parse()
	types := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, v1.AddToScheme)
	if err := types.AddToScheme(options.Scheme); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), options)
	if err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(mgr).Named("echo").For(&v1.Echo{})
	ignored := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return nil })
	for _, kind := range append(objects.Kinds(nil), objects.NewCronJob(), &corev1.Pod{}, &corev1.Node{}) {
		b.Watches(kind, ignored)
	}
	nothing := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })
	if err := b.Complete(nothing); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
