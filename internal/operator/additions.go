package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"

	"github.com/echo-operator/echo-operator/internal/monitoring"
	"github.com/echo-operator/echo-operator/internal/platform"
)

// addAdditions adds what makes the operator at home in a cluster that offers more than Kubernetes.
func (o *Operator) addAdditions(options Options) error {
	namespace := leaseNamespace(options)
	if namespace == "" { // outside of a cluster
		return nil
	}
	if options.CSV != "" {
		if err := o.addConsole(options.CSV, namespace); err != nil {
			return err
		}
	}
	if len(o.monitoring.served) == 0 {
		return nil
	}
	return o.Add(&platform.Additions{
		What:    "its ServiceMonitor and its PrometheusRule",
		Served:  func(context.Context) (map[string]bool, error) { return o.monitoring.served, nil },
		Objects: func() ([]*unstructured.Unstructured, error) { return monitoring.Objects(namespace) },
		Owner:   platform.OwnerInNamespace(o.GetAPIReader(), namespace),
		Manager: eventReporter,
		Writer:  o.GetClient(),
		Log:     o.GetLogger().WithName("monitoring"),
	})
}

// addConsole adds what the OpenShift console shows about Echoes, if OLM installed the operator.
func (o *Operator) addConsole(csv, namespace string) error {
	discoverer, err := discovery.NewDiscoveryClientForConfigAndClient(o.GetConfig(), o.GetHTTPClient())
	if err != nil {
		return err
	}
	return o.Add(&platform.Additions{
		What: "samples of Echoes to the console",
		Served: func(ctx context.Context) (map[string]bool, error) {
			return platform.Served(ctx, discoverer, platform.ConsoleAPI())
		},
		Objects: platform.ConsoleObjects,
		Owner:   platform.OwnerByOLM(o.GetAPIReader(), csv, namespace),
		Manager: "echo-operator." + namespace,
		Writer:  o.GetClient(),
		Log:     o.GetLogger().WithName("console"),
	})
}
