package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// preflightTimeout bounds the one request by which the operator finds out whether it can work.
const preflightTimeout = 10 * time.Second

// checkCluster asks the API server whether it knows Echoes. Its errors say what to do.
func checkCluster(ctx context.Context, cluster *rest.Config) error {
	quick := rest.CopyConfig(cluster)
	quick.Timeout = preflightTimeout
	client, err := discovery.NewDiscoveryClientForConfig(quick)
	if err != nil {
		return fmt.Errorf("the cluster's configuration cannot be used: %w", err)
	}
	resources, err := client.ServerResourcesForGroupVersionWithContext(ctx, v1.GroupVersion.String())
	switch {
	case err == nil && len(resources.APIResources) > 0:
		return nil
	case err == nil || apierrors.IsNotFound(err):
		return fmt.Errorf("the API server at %s does not know the kind Echo: install its CustomResourceDefinition first, with 'make install'", cluster.Host)
	case apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err):
		return fmt.Errorf("the API server at %s refuses these credentials: check KUBECONFIG or the service account (%w)", cluster.Host, err)
	case errors.Is(err, context.Canceled):
		return nil
	default:
		return fmt.Errorf("the API server at %s does not answer: check that the cluster runs and that KUBECONFIG points to it (%w)", cluster.Host, err)
	}
}
