package operator

import (
	"context"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/platform"
)

// monitoringAPI is what the operator can do with the API of the Prometheus Operator.
type monitoringAPI struct {
	// served are its kinds that the cluster serves, none where it does not serve it.
	served map[string]bool
	// pods is true if the operator can create PodMonitors for Echoes.
	pods bool
}

// findMonitoring asks whether a cluster serves the API of the Prometheus Operator and, only if so, whether the operator may watch PodMonitors in
// all of its namespaces, an empty list for all.
func findMonitoring(ctx context.Context, cluster *rest.Config, namespaces []string, log logr.Logger) (monitoringAPI, error) {
	quick := rest.CopyConfig(cluster)
	quick.Timeout = startCheckTimeout
	apis, err := discovery.NewDiscoveryClientForConfig(quick)
	if err != nil {
		return monitoringAPI{}, err
	}
	served, err := platform.Served(ctx, apis, children.MonitoringGroupVersion())
	if err != nil || !served["PodMonitor"] {
		return monitoringAPI{served: served}, err
	}
	missing, err := missingForPodMonitors(ctx, quick, namespaces)
	if err != nil {
		return monitoringAPI{}, err
	}
	if len(missing) > 0 {
		log.Info("Echoes are not monitored, because rights are missing. Grant them and restart the operator.", "missing", strings.Join(missing, "; "))
	}
	return monitoringAPI{served: served, pods: len(missing) == 0}, nil
}

// missingForPodMonitors returns which rights on PodMonitors the operator lacks in its namespaces.
func missingForPodMonitors(ctx context.Context, cluster *rest.Config, namespaces []string) ([]string, error) {
	reviews, err := authorizationclient.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	var all []string
	for _, namespace := range namespaces {
		missing, err := missingIn(ctx, reviews.SelfSubjectAccessReviews(), namespace,
			[]schema.GroupResource{{Group: children.MonitoringGroupVersion().Group, Resource: "podmonitors"}})
		if err != nil {
			return nil, err
		}
		all = append(all, missing...)
	}
	return all, nil
}
