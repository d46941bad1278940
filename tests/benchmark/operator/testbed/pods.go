package testbed

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// PodsPerEcho is the number of pods per Echo.
const PodsPerEcho = 2

// CreatePods creates running and ready pods for the existing Deployments.
func (p *ControlPlane) CreatePods(ctx context.Context, echoes int) error {
	list := &appsv1.DeploymentList{}
	if err := p.Client.List(ctx, list, client.InNamespace(Namespace),
		client.MatchingLabelsSelector{Selector: objects.ManagedSelector()}); err != nil {
		return err
	}
	if len(list.Items) != echoes {
		return fmt.Errorf("there are %d Deployments, not %d", len(list.Items), echoes)
	}
	return Parallel(ctx, len(list.Items), func(ctx context.Context, i int) error {
		for number := range PodsPerEcho {
			if err := CreatePod(ctx, p.Client, PodOf(&list.Items[i], number)); err != nil {
				return err
			}
		}
		return nil
	})
}

// CreatePod creates a running and ready pod.
func CreatePod(ctx context.Context, c client.Client, pod *corev1.Pod) error {
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	pod.Status = runningStatus(pod, metav1.Now())
	return c.Status().Update(ctx, pod)
}

// runningStatus returns the status of a running pod that became ready at the given time.
func runningStatus(pod *corev1.Pod, since metav1.Time) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &since, PodIP: "10.200.0.1", HostIP: "192.0.2.1",
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: since},
			{Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: since},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: since},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since},
		},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image, Ready: true, Started: new(true),
			ImageID: "quay.io/echo-operator/echo-server@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			State:   corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		}},
	}
}

// PodOf returns one of a Deployment's pods, as the ReplicaSet controller would create it.
func PodOf(d *appsv1.Deployment, number int) *corev1.Pod {
	const hash = "7d4b9c6f5d"
	pod := &corev1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = d.Namespace, fmt.Sprintf("%s-%s-%05d", d.Name, hash, number)
	pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = hash
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: d.Name + "-" + hash,
		UID: types.UID("0" + string(d.UID)[1:]), Controller: new(true), BlockOwnerDeletion: new(true)}}
	pod.Spec.NodeName = "node"
	return pod
}

// Parallel calls a function for every number from 0 to count-1 in parallel workers. It stops at the first error.
func Parallel(ctx context.Context, count int, function func(context.Context, int) error) error {
	const workers = 16
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < count && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := function(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
