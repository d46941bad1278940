package caches

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// NewLabeledPods adds a second cache to a manager, for the pods that request a companion. Pods without the companion label use no memory.
func NewLabeledPods(mgr manager.Manager, namespaces []string) (cache.Cache, error) {
	labeled, err := labels.NewRequirement(v1.CompanionLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	o := furtherCacheOptions(mgr, namespaces)
	o.ByObject = map[client.Object]cache.ByObject{
		&corev1.Pod{}: {Label: labels.NewSelector().Add(*labeled), Transform: stripLabeledPod},
	}
	pods, err := cache.New(mgr.GetConfig(), o)
	if err != nil {
		return nil, fmt.Errorf("setting up the cache for labeled pods: %w", err)
	}
	return pods, mgr.Add(managedCache{pods})
}

// managedCache makes a manager start a second cache together with its own cache, and wait for both before leader election.
type managedCache struct{ cache.Cache }

// GetCache makes a manager treat the object as a cache.
func (c managedCache) GetCache() cache.Cache { return c.Cache }

// stripLabeledPod is a cache transform that keeps only the parts of a pod that determine its companion.
func stripLabeledPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			DeletionTimestamp: pod.DeletionTimestamp, OwnerReferences: pod.OwnerReferences,
			Labels: map[string]string{v1.CompanionLabel: pod.Labels[v1.CompanionLabel]},
		},
		Spec:   corev1.PodSpec{NodeName: pod.Spec.NodeName, Tolerations: pod.Spec.Tolerations},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}, nil
}
