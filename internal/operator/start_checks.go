package operator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// startCheckTimeout is the timeout of each request that the startup checks send.
const startCheckTimeout = 10 * time.Second

// FindCluster returns the configuration of the operator's cluster, after the API server has confirmed that it serves the given API. The
// error explains how to fix the problem.
func FindCluster(ctx context.Context, version string, api schema.GroupVersion) (*rest.Config, error) {
	cluster, err := config.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster is configured: set KUBECONFIG to the path of a kubeconfig file (%w)", err)
	}
	// The default user agent is the name of the executable, which the API server would record as the field manager.
	cluster.UserAgent = fmt.Sprintf("echo-operator/%s (%s/%s)", version, runtime.GOOS, runtime.GOARCH)
	return cluster, checkCluster(ctx, cluster, api)
}

func checkCluster(ctx context.Context, cluster *rest.Config, api schema.GroupVersion) error {
	quick := rest.CopyConfig(cluster)
	quick.Timeout = startCheckTimeout
	client, err := discovery.NewDiscoveryClientForConfig(quick)
	if err != nil {
		return fmt.Errorf("the cluster configuration cannot be used: %w", err)
	}
	resources, err := client.ServerResourcesForGroupVersionWithContext(ctx, api.String())
	switch {
	case err == nil && (api != v1.GroupVersion || len(resources.APIResources) > 0):
		return nil
	case (err == nil || apierrors.IsNotFound(err)) && api == v1.GroupVersion:
		return fmt.Errorf("the API server at %s does not serve the kind Echo: install its CustomResourceDefinition first, with 'make install' "+
			"or 'manager crd | kubectl apply --server-side -f -'", cluster.Host)
	case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
		return fmt.Errorf("the API server at %s rejects these credentials: check KUBECONFIG or the service account (%w)", cluster.Host, err)
	case errors.Is(err, context.Canceled):
		return nil
	default:
		return fmt.Errorf("the API server at %s does not respond: check that the cluster is running and that KUBECONFIG points to it (%w)",
			cluster.Host, err)
	}
}

// checkNamespaces returns the rights that are missing in the namespaces to watch, and an error if none of the namespaces can be watched.
func checkNamespaces(ctx context.Context, cluster *rest.Config, namespaces []string) (missingRights, error) {
	ask, err := newAskRights(cluster)
	if err != nil {
		return nil, err
	}
	missing, err := ask(ctx, namespaces)
	switch {
	case errors.Is(err, context.Canceled):
		return missingRights{}, nil
	case err != nil:
		return nil, fmt.Errorf("the API server at %s does not report what the operator may do: %w", cluster.Host, err)
	}
	_, err = missing.among(namespaces)
	return missing, err
}
