package operator

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/platform"
)

// newGatewayAPI returns what the cluster offers of Gateway API, which is asked for when somebody wants to know it.
func (o *Operator) newGatewayAPI(namespaces []string) (*controllers.GatewayAPI, error) {
	apis, err := discovery.NewDiscoveryClientForConfigAndClient(o.GetConfig(), o.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return &controllers.GatewayAPI{
		Find: func(ctx context.Context) (controllers.GatewayOffer, error) {
			return findGatewayAPI(ctx, apis, o.GetAPIReader(), namespaces)
		},
		NewCache: func(served children.Served, lost func()) (cache.Cache, error) {
			return newGatewayCache(o.Manager, namespaces, served, lost)
		},
		Add: o.Add,
		Log: o.GetLogger().WithName("gateways"),
		Now: time.Now,
	}, nil
}

// findGatewayAPI asks which kinds of Gateway API a cluster serves and, by listing them, which of these the operator may use: routes in all of
// its namespaces, an empty list for all, and Gateways in any.
func findGatewayAPI(
	ctx context.Context, apis *discovery.DiscoveryClient, live client.Reader, namespaces []string,
) (controllers.GatewayOffer, error) {
	offer := controllers.GatewayOffer{Served: children.Served{}, Refused: map[string]string{}}
	served, err := platform.Served(ctx, apis, children.GatewayGroupVersion())
	if err != nil {
		return offer, err
	}
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	where := map[string][]string{children.GatewayKind: {metav1.NamespaceAll}}
	for kind := range children.OptionalKinds() {
		where[kind] = namespaces
	}
	for kind, namespaces := range where {
		if !served[kind] {
			continue
		}
		refused, err := mayList(ctx, live, kind, namespaces)
		switch {
		case err != nil:
			return offer, err
		case refused != "":
			offer.Refused[kind] = refused
		default:
			offer.Served[kind] = true
		}
	}
	return offer, nil
}

// mayList returns why the operator may not list a kind of Gateway API, empty if it may.
func mayList(ctx context.Context, live client.Reader, kind string, namespaces []string) (string, error) {
	for _, namespace := range namespaces {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(children.GatewayGroupVersion().WithKind(kind + "List"))
		err := live.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		if apierrors.IsForbidden(err) {
			return err.Error(), nil
		}
		if err != nil {
			return "", fmt.Errorf("listing the kind %s: %w", kind, err)
		}
	}
	return "", nil
}
