package olm

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

const (
	// cleanupTimeout limits how long the cleanup after a spec may take.
	cleanupTimeout = 6 * time.Minute
)

// k8s finds and deletes the objects that specs left behind, and watches objects.
var k8s client.WithWatch

// The operator is not installed when a spec or an Ordered container starts, regardless of how the previous one ended.
var _ = BeforeEach(func(ctx SpecContext) {
	removeOperator(ctx)
	restartCatalogOperator(ctx)
	DeferCleanup(removeOperator, NodeTimeout(cleanupTimeout))
}, OncePerOrdered, NodeTimeout(cleanupTimeout))

// cleanupStages contains the kinds of objects to delete, grouped into stages. Each stage starts only when the previous stage is complete,
// because OLM needs permissions and namespaces from later stages to uninstall the operator.
var cleanupStages = [][]schema.GroupVersionKind{
	{
		{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"},
		{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource"},
		{Group: "olm.operatorframework.io", Version: "v1", Kind: "ClusterExtension"},
		{Group: "olm.operatorframework.io", Version: "v1", Kind: "ClusterCatalog"},
	},
	{
		{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"},
	},
	{
		{Group: "apps", Version: "v1", Kind: "Deployment"},
		{Group: "example.com", Version: "v1", Kind: "Echo"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Version: "v1", Kind: "Service"},
		{Version: "v1", Kind: "Pod"},
		{Version: "v1", Kind: "Secret"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRoleBinding"},
		{Version: "v1", Kind: "Namespace"},
		{Group: "operators.coreos.com", Version: "v1", Kind: "Operator"},
	},
}

// removeOperator deletes the operator, its Echoes, and other objects that specs created, no matter how the operator was installed.
func removeOperator(ctx context.Context) {
	GinkgoHelper()
	Eventually(removeLeftovers).WithContext(ctx).WithTimeout(cleanupTimeout).Should(BeEmpty())
}

// removeLeftovers deletes the objects in the first stage that is not empty, and returns their names.
func removeLeftovers(ctx context.Context) ([]string, error) {
	var left []string
	for _, stage := range cleanupStages {
		for _, kind := range stage {
			objects, err := leftovers(ctx, kind)
			if err != nil {
				return nil, err
			}
			for i := range objects {
				left = append(left, kind.Kind+" "+client.ObjectKeyFromObject(&objects[i]).String())
				if err := remove(ctx, &objects[i]); err != nil {
					return nil, err
				}
			}
		}
		if len(left) > 0 {
			return left, nil
		}
	}
	return nil, nil
}

// leftovers returns a kind's objects that belong to the operator. In the test cluster, names identify these objects reliably.
func leftovers(ctx context.Context, kind schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := k8s.List(ctx, list)
	if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) { // the cluster does not serve the kind
		return nil, nil
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(kind)
	}
	return slices.DeleteFunc(list.Items, func(object metav1.PartialObjectMetadata) bool {
		return kind.Kind != "Echo" && !strings.Contains(object.Name, "echo") && !strings.HasPrefix(object.Name, "prober-")
	}), err
}

// remove deletes an object. If the deletion is stuck, remove also removes the object's finalizers.
func remove(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	if object.DeletionTimestamp == nil {
		return client.IgnoreNotFound(k8s.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
	if !isStuck(object) {
		return nil
	}
	GinkgoWriter.Println("removing the finalizers", object.Finalizers, "of", object.Kind, client.ObjectKeyFromObject(object))
	return support.RemoveFinalizers(ctx, k8s, object)
}

// isStuck reports whether the cleanup must remove an object's finalizers. The finalizers of Echoes and pods can be removed immediately. The
// CustomResourceDefinition must remain until the Echoes are gone.
func isStuck(object *metav1.PartialObjectMetadata) bool {
	switch {
	case len(object.Finalizers) == 0 || object.Kind == "CustomResourceDefinition":
		return false
	case object.Kind == "Echo" || object.Kind == "Pod":
		return true
	}
	return time.Since(object.DeletionTimestamp.Time) > support.StuckTimeout
}

// restartCatalogOperator clears OLM's cache. Otherwise, OLM would use the previous catalog for minutes if a new one had the same name.
func restartCatalogOperator(ctx context.Context) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "rollout", "restart", "-n", "olm", "deployment/catalog-operator")
	realcluster.Kubectl(ctx, "rollout", "status", "-n", "olm", "deployment/catalog-operator", waitTimeout)
}

var _ = realcluster.ShowAfterFailure(
	"get subscriptions.operators.coreos.com,installplans,csv,catalogsources,operatorgroups -A",
	"get clusterextensions,clustercatalogs -o yaml",
	"get echoes -A -o yaml",
	"get namespaces,deployments,replicasets,services,pods -A -o wide",
	"get events -A --sort-by=.lastTimestamp",
	"logs -n "+operatorNamespace+" -l control-plane=controller-manager --prefix --tail=50",
	"logs -n olm deployment/catalog-operator --tail=30",
)
