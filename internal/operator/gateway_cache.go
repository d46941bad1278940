package operator

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/echo-operator/echo-operator/internal/children"
)

// newGatewayCache returns a cache of some kinds of Gateway API: of the routes that the operator created, and of all Gateways. It is apart
// from the cache of the manager, which could not be made where one of its kinds is not served. lost is called when a kind is no longer served.
func newGatewayCache(mgr manager.Manager, namespaces []string, served children.Served, lost func()) (cache.Cache, error) {
	o := furtherCacheOptions(mgr, namespaces)
	o.ByObject = map[client.Object]cache.ByObject{}
	o.DefaultWatchErrorHandler = func(ctx context.Context, r *toolscache.Reflector, err error) {
		if apierrors.IsNotFound(err) {
			lost()
			return
		}
		toolscache.DefaultWatchErrorHandler(ctx, r, err)
	}
	for kind, object := range children.OptionalKinds() {
		if served[kind] {
			o.ByObject[object] = cache.ByObject{Label: children.ManagedSelector(), Transform: stripManagedFields}
		}
	}
	if served[children.GatewayKind] {
		o.ByObject[&gatewayv1.Gateway{}] = cache.ByObject{
			Namespaces: map[string]cache.Config{metav1.NamespaceAll: {}}, Transform: stripGateway,
		}
	}
	made, err := cache.New(mgr.GetConfig(), o)
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of routes: %w", err)
	}
	for object := range o.ByObject {
		if _, err := made.GetInformer(context.Background(), object, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("setting up the cache of %T: %w", object, err)
		}
	}
	return made, nil
}

// stripManagedFields removes the managed fields of others from an object. It is a transform of a cache.
func stripManagedFields(object any) (any, error) {
	if o, ok := object.(client.Object); ok {
		o.SetManagedFields(ownFields(o.GetManagedFields()))
	}
	return object, nil
}

// stripGateway removes everything from a Gateway but what its URLs follow from. It is a transform of a cache.
func stripGateway(object any) (any, error) {
	gateway, ok := object.(*gatewayv1.Gateway)
	if !ok {
		return object, nil
	}
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: gateway.Namespace, Name: gateway.Name, UID: gateway.UID, ResourceVersion: gateway.ResourceVersion, Generation: gateway.Generation,
		},
		Spec:   gatewayv1.GatewaySpec{Listeners: gateway.Spec.Listeners},
		Status: gatewayv1.GatewayStatus{Addresses: gateway.Status.Addresses},
	}, nil
}
