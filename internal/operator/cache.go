package operator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/packed"
)

// cacheOptions keeps only objects that the operator created, with only their managed fields that the operator reads, and pods and nodes
// without what it does not read. Most are packed. What is read of the others is not copied: nobody may change it, which the test suites
// check with client-go's detector of such changes.
func cacheOptions(namespaces []string, store *packed.Store, monitors bool) cache.Options {
	o := cache.Options{
		ReaderFailOnMissingInformer:  true,
		DefaultNamespaces:            namespaceConfigs(namespaces),
		DefaultUnsafeDisableDeepCopy: new(true),
		NewInformer:                  store.NewInformer,
		ByObject: map[client.Object]cache.ByObject{
			&v1.Echo{}:     {Transform: packEcho},
			&corev1.Node{}: {Transform: stripNode},
			&corev1.Pod{}:  {Label: children.ManagedSelector(), Transform: stripPod},
		},
	}
	for _, kind := range children.Kinds() {
		o.ByObject[kind] = cache.ByObject{Label: children.ManagedSelector(), Transform: packChild}
	}
	if monitors {
		o.ByObject[children.BlankPodMonitor()] = cache.ByObject{Label: children.ManagedSelector()}
	}
	return o
}

// furtherCacheOptions returns the options that all caches beside that of the manager have.
func furtherCacheOptions(mgr manager.Manager, namespaces []string) cache.Options {
	return cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultNamespaces: namespaceConfigs(namespaces), ReaderFailOnMissingInformer: true,
	}
}

// packEcho packs an Echo without its managed fields. It is a transform of a cache.
func packEcho(object any) (any, error) {
	if echo, ok := object.(*v1.Echo); ok {
		echo.ManagedFields = nil
	}
	return packed.Pack(object)
}

// packChild packs a child without the managed fields that are not the operator's. It is a transform of a cache.
func packChild(object any) (any, error) {
	if o, ok := object.(client.Object); ok && packed.Packs(object) {
		own := ownFields(o.GetManagedFields())
		for i := range own {
			own[i].Time = nil // it differs from object to object, and nobody reads it
		}
		o.SetManagedFields(own)
	}
	return packed.Pack(object)
}

// ownFields returns what the operator applied.
func ownFields(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	return slices.DeleteFunc(entries, func(entry metav1.ManagedFieldsEntry) bool { return !children.IsOwn(entry) })
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

// stripPod removes everything from a pod but what the operator reads. It is a transform of a cache.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	stripped := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, OwnerReferences: children.OwnersRead(pod),
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp, Labels: pod.Labels,
		},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName, Volumes: children.VolumesRead(pod)},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, Conditions: conditionsRead(pod.Status.Conditions),
			InitContainerStatuses: stripStatuses(pod.Status.InitContainerStatuses), ContainerStatuses: stripStatuses(pod.Status.ContainerStatuses),
		},
	}
	if applied := pod.Annotations[v1.AppliedHashAnnotation]; applied != "" {
		stripped.Annotations = map[string]string{v1.AppliedHashAnnotation: applied}
	}
	return stripped, nil
}

// conditionsRead returns the conditions of a pod that the operator reads.
func conditionsRead(all []corev1.PodCondition) []corev1.PodCondition {
	return slices.Clip(slices.DeleteFunc(slices.Clone(all), func(c corev1.PodCondition) bool {
		return c.Type != corev1.PodReady && c.Type != corev1.PodScheduled
	}))
}

// stripStatuses keeps what the operator reads of containers: their state, and how they ended before.
func stripStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	stripped := make([]corev1.ContainerStatus, len(all))
	for i, s := range all {
		stripped[i] = corev1.ContainerStatus{
			Name: s.Name, Image: s.Image, Ready: s.Ready, RestartCount: s.RestartCount, State: s.State, LastTerminationState: s.LastTerminationState,
		}
	}
	return stripped
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
