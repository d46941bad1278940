package main

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// createPods creates running and ready pods for Echoes, as the ReplicaSet controller and the kubelet do. The pods resemble those of the
// first Echo, and the Echoes do not need to exist. The format of their names contains a number.
func (p *controlPlane) createPods(ctx context.Context, names string, echoes int) error {
	like := &appsv1.Deployment{}
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(newEcho(0)), like); err != nil {
		return err
	}
	return parallel(ctx, echoes*podsPerEcho, func(ctx context.Context, i int) error {
		name := fmt.Sprintf(names, i/podsPerEcho)
		pod := &corev1.Pod{ObjectMeta: *like.Spec.Template.ObjectMeta.DeepCopy(), Spec: *like.Spec.Template.Spec.DeepCopy()}
		pod.Namespace, pod.Name, pod.Spec.NodeName = namespace, fmt.Sprintf("%s-7d4b9c6f5d-%05d", name, i%podsPerEcho), "node"
		maps.Copy(pod.Labels, objects.SelectorLabels(&v1.Echo{Namespace: namespace, Name: name}))
		pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "7d4b9c6f5d"
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name + "-7d4b9c6f5d",
			UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i/podsPerEcho)), Controller: new(true), BlockOwnerDeletion: new(true)}}
		if err := p.client.Create(ctx, pod); err != nil {
			return err
		}
		pod.Status = runningStatus(pod)
		return p.client.Status().Update(ctx, pod)
	})
}

// runningStatus returns the status of a pod that is ready now.
func runningStatus(pod *corev1.Pod) corev1.PodStatus {
	now := metav1.Now()
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, PodIP: "10.200.0.1", HostIP: "192.0.2.1",
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, Ready: true, Started: new(true),
			ImageID: "quay.io/echo-operator/echo-server@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}},
	}
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	return status
}
