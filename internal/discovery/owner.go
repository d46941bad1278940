package discovery

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// OwnerInNamespace returns a function that finds the operator's Deployment in a namespace, if there is one.
func OwnerInNamespace(live client.Reader, namespace string) func(context.Context) (*metav1.OwnerReference, error) {
	return func(ctx context.Context) (*metav1.OwnerReference, error) {
		deployments := &appsv1.DeploymentList{}
		err := live.List(ctx, deployments, client.InNamespace(namespace), client.Limit(1),
			client.MatchingLabels{"app.kubernetes.io/name": "echo-operator", "control-plane": "controller-manager"})
		if err != nil || len(deployments.Items) == 0 {
			return nil, err
		}
		return reference(appsv1.SchemeGroupVersion.WithKind("Deployment"), &deployments.Items[0]), nil
	}
}

func reference(kind schema.GroupVersionKind, owner client.Object) *metav1.OwnerReference {
	return &metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: owner.GetName(), UID: owner.GetUID()}
}

// OwnerByOLM returns a function that finds the ClusterRole that OLM created for a ClusterServiceVersion, if there is one. The ClusterRole
// can own cluster-scoped objects, and OLM deletes it together with the ClusterServiceVersion.
func OwnerByOLM(live client.Reader, csv, namespace string) func(context.Context) (*metav1.OwnerReference, error) {
	return func(ctx context.Context) (*metav1.OwnerReference, error) {
		roles := &rbacv1.ClusterRoleList{}
		err := live.List(ctx, roles, client.MatchingLabels{
			"olm.owner": csv, "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": namespace}, client.Limit(1))
		if err != nil || len(roles.Items) == 0 {
			return nil, err
		}
		return reference(rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), &roles.Items[0]), nil
	}
}
