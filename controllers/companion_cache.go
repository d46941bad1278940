package controllers

import (
	"context"
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

// byOwner is the index by which the companions of a pod are found.
const byOwner = "metadata.ownerReferences.name"

// LabelledPods is a second cache, of the pods that ask for a companion: a cache has one selector for each kind. An unlabelled pod
// costs nothing. The namespaces are those of the manager's own cache.
func LabelledPods(mgr manager.Manager, namespaces map[string]cache.Config) (cache.Cache, error) {
	asks, err := labels.NewRequirement(v1.CompanionLabel, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	pods, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient:                  mgr.GetHTTPClient(),
		Scheme:                      mgr.GetScheme(),
		Mapper:                      mgr.GetRESTMapper(),
		DefaultNamespaces:           namespaces,
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Label: labels.NewSelector().Add(*asks), Transform: slimPod},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the cache of labelled pods: %w", err)
	}
	if err := pods.IndexField(context.Background(), &corev1.Pod{}, byNode, nodeOfPod); err != nil {
		return nil, err
	}
	return pods, mgr.Add(ofManager{pods})
}

// ofManager has a manager start a cache with its own, before it leads, and wait for it.
type ofManager struct{ cache.Cache }

// GetCache is what a manager knows caches by.
func (c ofManager) GetCache() cache.Cache { return c.Cache }

// slimPod leaves of a pod what decides about its companion.
func slimPod(object any) (any, error) {
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

// ownerOfCompanion is the name of the pod that a companion is for; nothing for other pods.
func ownerOfCompanion(pod client.Object) []string {
	if !isCompanion(pod) {
		return nil
	}
	return []string{metav1.GetControllerOfNoCopy(pod).Name}
}
