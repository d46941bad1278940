package operator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/children"
)

// cacheOptions keeps only objects that the operator created, with only their managed fields that the operator reads, and nodes without
// what it does not read. What is read of them is not copied: nobody may change it, which the test suites check with client-go's detector
// of such changes. Echoes are copied, because their writes are read back into them.
func cacheOptions(namespaces []string) cache.Options {
	o := cache.Options{
		ReaderFailOnMissingInformer: true,
		DefaultTransform:            cache.TransformStripManagedFields(),
		DefaultNamespaces:           namespaceConfigs(namespaces),
		ByObject:                    map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: stripNode, UnsafeDisableDeepCopy: new(true)}},
	}
	o.ByObject[&corev1.Pod{}] = cache.ByObject{Label: children.ManagedSelector(), UnsafeDisableDeepCopy: new(true)}
	for _, kind := range children.Kinds() {
		o.ByObject[kind] = cache.ByObject{Label: children.ManagedSelector(), Transform: stripForeignFields, UnsafeDisableDeepCopy: new(true)}
	}
	return o
}

// stripForeignFields removes the managed fields of an object that are not the operator's. It is a transform of a cache.
func stripForeignFields(object any) (any, error) {
	if o, ok := object.(client.Object); ok {
		o.SetManagedFields(slices.DeleteFunc(o.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return !children.IsOwn(entry) }))
	}
	return object, nil
}

// namespaceConfigs returns the namespaces that a cache watches, nil for all.
func namespaceConfigs(namespaces []string) map[string]cache.Config {
	if len(namespaces) == 0 {
		return nil
	}
	configs := make(map[string]cache.Config, len(namespaces))
	for _, namespace := range namespaces {
		configs[namespace] = cache.Config{}
	}
	return configs
}

// stripNode removes everything from a node but its identity, whether it is schedulable, and its conditions. It is a transform of a
// cache.
func stripNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion},
		Spec:       corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable},
		Status:     corev1.NodeStatus{Conditions: node.Status.Conditions},
	}, nil
}
