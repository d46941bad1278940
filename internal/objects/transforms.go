package objects

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Strip is the transform of the operator's main cache. It keeps only what the operator reads. Of an Echo, it removes the managed fields and
// the annotation in which kubectl apply stores the manifest, and of a child, the managed fields of other field managers.
func Strip(object any) (any, error) {
	switch object := object.(type) {
	case *corev1.Pod:
		return stripPod(object), nil
	case *corev1.Node: // its identity, its conditions, and whether it is schedulable
		return &corev1.Node{
			Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
			Spec:   corev1.NodeSpec{Unschedulable: object.Spec.Unschedulable},
			Status: corev1.NodeStatus{Conditions: object.Status.Conditions},
		}, nil
	case *gatewayv1.Gateway: // its identity, and the fields that determine its URLs
		return &gatewayv1.Gateway{
			Namespace: object.Namespace, Name: object.Name, UID: object.UID, ResourceVersion: object.ResourceVersion,
			Generation: object.Generation,
			Spec:       gatewayv1.GatewaySpec{Listeners: object.Spec.Listeners},
			Status:     gatewayv1.GatewayStatus{Addresses: object.Status.Addresses},
		}, nil
	case *unstructured.Unstructured: // of a PodMonitor that does not belong to an Echo, only its identity
		if owner := metav1.GetControllerOfNoCopy(object); owner != nil && owner.Kind == "Echo" {
			return object, nil
		}
		stripped := NewPodMonitor()
		stripped.SetNamespace(object.GetNamespace())
		stripped.SetName(object.GetName())
		stripped.SetUID(object.GetUID())
		stripped.SetResourceVersion(object.GetResourceVersion())
		return stripped, nil
	case *v1.Echo:
		object.ManagedFields = nil
		delete(object.Annotations, corev1.LastAppliedConfigAnnotation)
	case client.Object:
		isForeign := func(entry metav1.ManagedFieldsEntry) bool { return !IsOwnEntry(entry) }
		object.SetManagedFields(slices.DeleteFunc(object.GetManagedFields(), isForeign))
	}
	return object, nil
}

// StripLabeledPod is the transform of the cache of pods that request a companion. It keeps only the fields that LabeledPodOf reads.
func StripLabeledPod(object any) (any, error) {
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

// stripPod keeps only the fields that PodOf reads.
func stripPod(pod *corev1.Pod) *corev1.Pod {
	conditions := slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c corev1.PodCondition) bool {
		return c.Type != corev1.PodReady && c.Type != corev1.PodScheduled
	})
	volumes := slices.DeleteFunc(slices.Clone(pod.Spec.Volumes), func(v corev1.Volume) bool { return v.Name != tlsVolume })
	owners := pod.OwnerReferences
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && CompanionOwner(pod) == "" { // companions are fewer
		owners = []metav1.OwnerReference{{Kind: owner.Kind, Controller: owner.Controller}}
	}
	stripped := &corev1.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, OwnerReferences: owners,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp, Labels: pod.Labels,
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName, Volumes: slices.Clip(volumes)},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, Conditions: slices.Clip(conditions),
			InitContainerStatuses: stripStatuses(pod.Status.InitContainerStatuses), ContainerStatuses: stripStatuses(pod.Status.ContainerStatuses),
		},
	}
	if applied := pod.Annotations[v1.AppliedHashAnnotation]; applied != "" {
		stripped.Annotations = map[string]string{v1.AppliedHashAnnotation: applied}
	}
	return stripped
}

// stripStatuses keeps only the fields of container statuses that PodOf reads.
func stripStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	stripped := make([]corev1.ContainerStatus, len(all))
	for i, s := range all {
		stripped[i] = corev1.ContainerStatus{
			Name: s.Name, Image: s.Image, Ready: s.Ready, RestartCount: s.RestartCount, State: s.State, LastTerminationState: s.LastTerminationState,
		}
	}
	return stripped
}
