package operator

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/internal/children/routing"
	"github.com/echo-operator/echo-operator/internal/discovery"
	"github.com/echo-operator/echo-operator/internal/monitoring"
	"github.com/echo-operator/echo-operator/internal/openshift"
)

func (o *Operator) addAdditions(options Options) error {
	namespace := leaseNamespace(options)
	if namespace == "" { // outside a cluster
		return nil
	}
	if options.CSV != "" {
		if err := o.addConsole(options.CSV, namespace); err != nil {
			return err
		}
	}
	return o.Add(&discovery.Additions{
		What:    "its ServiceMonitor and its PrometheusRule",
		Served:  o.offered.apis.Usable(desired.MonitoringGroupVersion()),
		Objects: func() ([]*unstructured.Unstructured, error) { return monitoring.Objects(namespace) },
		Owner:   discovery.OwnerInNamespace(o.GetAPIReader(), namespace),
		Manager: eventReporter,
		Writer:  o.GetClient(),
		Log:     o.GetLogger().WithName("monitoring"),
	})
}

// addConsole adds the objects that the OpenShift console shows for Echoes, if OLM installed the operator.
func (o *Operator) addConsole(csv, namespace string) error {
	return o.Add(&discovery.Additions{
		What:   "samples of Echoes to the console",
		Served: o.offered.apis.Usable(openshift.ConsoleAPI()),
		Objects: func() ([]*unstructured.Unstructured, error) {
			return openshift.ConsoleObjects(o.offered.gatewayAPI().Served[routing.HTTPRouteKind])
		},
		Owner:   discovery.OwnerByOLM(o.GetAPIReader(), csv, namespace),
		Manager: "echo-operator." + namespace,
		Writer:  o.GetClient(),
		Log:     o.GetLogger().WithName("console"),
	})
}
