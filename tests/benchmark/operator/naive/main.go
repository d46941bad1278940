// naive is an operator with the defaults of a scaffold: one worker, all objects in the cache, and in each pass an update of the
// finalizer, server-side apply of each child, and a patch of the status, whatever is there. It is what the benchmark compares with.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func main() {
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "naive: "+err.Error())
		os.Exit(1)
	}
}

func run() error {
	metrics := flag.String("metrics-bind-address", "0", "address to serve metrics on")
	probes := flag.String("health-probe-bind-address", "0", "address to serve probes on")
	flag.String("metrics-cert-path", "", "ignored: metrics are served without TLS")
	flag.Parse()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return err
	}
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(cluster, ctrl.Options{Scheme: scheme, HealthProbeBindAddress: *probes,
		Metrics: metricsserver.Options{BindAddress: *metrics}})
	if err != nil {
		return err
	}
	r := &reconciler{Client: manager.GetClient(), recorder: manager.GetEventRecorder("naive"), image: os.Getenv("RELATED_IMAGE_ECHO_SERVER")}
	err = ctrl.NewControllerManagedBy(manager).For(&v1.Echo{}).
		Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).Owns(&policyv1.PodDisruptionBudget{}).
		Owns(&networkingv1.Ingress{}).Owns(&networkingv1.NetworkPolicy{}).
		Complete(r)
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}
