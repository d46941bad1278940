package operator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// stripEcho is a cache transform that removes an Echo's managed fields and the annotation in which kubectl apply stores a copy of the
// manifest.
func stripEcho(object any) (any, error) {
	if echo, ok := object.(*v1.Echo); ok {
		echo.ManagedFields = nil
		delete(echo.Annotations, corev1.LastAppliedConfigAnnotation)
	}
	return object, nil
}

// stripChild is a cache transform that removes the managed fields of other field managers from a child.
func stripChild(object any) (any, error) {
	if child, ok := object.(client.Object); ok {
		isForeign := func(entry metav1.ManagedFieldsEntry) bool { return !objects.IsOwnEntry(entry) }
		child.SetManagedFields(slices.DeleteFunc(child.GetManagedFields(), isForeign))
	}
	return object, nil
}

// stripPodMonitor is a cache transform that keeps only the identity of a PodMonitor that does not belong to an Echo.
func stripPodMonitor(object any) (any, error) {
	monitor, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	if owner := metav1.GetControllerOfNoCopy(monitor); owner != nil && owner.Kind == "Echo" {
		return object, nil
	}
	stripped := objects.NewPodMonitor()
	stripped.SetNamespace(monitor.GetNamespace())
	stripped.SetName(monitor.GetName())
	stripped.SetUID(monitor.GetUID())
	stripped.SetResourceVersion(monitor.GetResourceVersion())
	return stripped, nil
}

// stripPod is a cache transform that keeps only the parts of a pod that the operator reads.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	conditions := slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c corev1.PodCondition) bool {
		return c.Type != corev1.PodReady && c.Type != corev1.PodScheduled
	})
	stripped := &corev1.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, OwnerReferences: objects.OwnersRead(pod),
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp, Labels: pod.Labels,
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName, Volumes: objects.VolumesRead(pod)},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, Conditions: slices.Clip(conditions),
			InitContainerStatuses: stripStatuses(pod.Status.InitContainerStatuses), ContainerStatuses: stripStatuses(pod.Status.ContainerStatuses),
		},
	}
	if applied := pod.Annotations[v1.AppliedHashAnnotation]; applied != "" {
		stripped.Annotations = map[string]string{v1.AppliedHashAnnotation: applied}
	}
	return stripped, nil
}

// stripStatuses keeps only the parts of container statuses that the operator reads.
func stripStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	stripped := make([]corev1.ContainerStatus, len(all))
	for i, s := range all {
		stripped[i] = corev1.ContainerStatus{
			Name: s.Name, Image: s.Image, Ready: s.Ready, RestartCount: s.RestartCount, State: s.State, LastTerminationState: s.LastTerminationState,
		}
	}
	return stripped
}

// stripLabeledPod is a cache transform that keeps only the parts of a pod that determine its companion.
func stripLabeledPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		DeletionTimestamp: pod.DeletionTimestamp, OwnerReferences: pod.OwnerReferences,
		Labels: map[string]string{v1.CompanionLabel: pod.Labels[v1.CompanionLabel]},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName, Tolerations: pod.Spec.Tolerations},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}, nil
}

// stripNode is a cache transform that keeps only a node's identity, its conditions, and whether it is schedulable.
func stripNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion,
		Spec:   corev1.NodeSpec{Unschedulable: node.Spec.Unschedulable},
		Status: corev1.NodeStatus{Conditions: node.Status.Conditions},
	}, nil
}

// stripGateway is a cache transform that keeps only the fields of a Gateway that determine its URLs.
func stripGateway(object any) (any, error) {
	gateway, ok := object.(*gatewayv1.Gateway)
	if !ok {
		return object, nil
	}
	return &gatewayv1.Gateway{
		Namespace: gateway.Namespace, Name: gateway.Name, UID: gateway.UID, ResourceVersion: gateway.ResourceVersion,
		Generation: gateway.Generation,
		Spec:       gatewayv1.GatewaySpec{Listeners: gateway.Spec.Listeners},
		Status:     gatewayv1.GatewayStatus{Addresses: gateway.Status.Addresses},
	}, nil
}
