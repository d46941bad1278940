// bare is a manager with controller-runtime's defaults that watches the same kinds as the operator, but does nothing for an Echo. The
// benchmark compares the operator's start with bare's start.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bare: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	options, err := parse(os.Args[1:])
	if err != nil {
		return err
	}
	cluster, err := config.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(cluster, options)
	if err != nil {
		return err
	}
	if err := addController(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// parse accepts the flags that the benchmark passes to the operator.
func parse(arguments []string) (ctrl.Options, error) {
	options := ctrl.Options{Scheme: runtime.NewScheme(), Metrics: metricsserver.Options{SecureServing: true}}
	flags := flag.NewFlagSet("bare", flag.ContinueOnError)
	flags.StringVar(&options.Metrics.BindAddress, "metrics-bind-address", "0", "the address of the metrics")
	flags.String("metrics-cert-path", "", "ignored: controller-runtime generates a certificate")
	flags.StringVar(&options.HealthProbeBindAddress, "health-probe-bind-address", "0", "the address of the probes")
	if err := flags.Parse(arguments); err != nil {
		return options, err
	}
	types := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, v1.AddToScheme)
	return options, types.AddToScheme(options.Scheme)
}

// addController watches the operator's kinds with a reconciler that does nothing.
func addController(mgr ctrl.Manager) error {
	b := ctrl.NewControllerManagedBy(mgr).Named("echo").For(&v1.Echo{})
	ignored := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return nil })
	for _, kind := range append(objects.Kinds(nil), objects.NewCronJob(), &corev1.Pod{}, &corev1.Node{}) {
		b.Watches(kind, ignored)
	}
	return b.Complete(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil }))
}
