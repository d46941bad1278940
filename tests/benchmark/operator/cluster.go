package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// clusterNamespaces is the number of namespaces of the Echoes on a cluster. Whenever a Deployment changes, the Kubernetes controllers read
	// all pods and ReplicaSets in its namespace. If all 20,000 pods were in one namespace, these reads would take longer than everything else.
	clusterNamespaces = 20
	// rolledImage is the image to which all Echoes are updated.
	rolledImage = "quay.io/echo-operator/echo-server:v0.1.1"
)

func clusterNamespace(number int) string {
	return fmt.Sprintf("%s-%02d", namespace, number%clusterNamespaces)
}

// cluster measures the life of Echoes: the operator together with the Kubernetes controllers and pods.
func (b *benchmark) cluster(ctx context.Context) error {
	if b.inCluster == 0 {
		return nil
	}
	return onControlPlane(ctx, func(p *controlPlane) error {
		running, stopKubelets := context.WithCancel(ctx)
		p.closers = append(p.closers, stopKubelets)
		if err := errors.Join(p.addNamespacesAndNode(ctx), startKubelets(running, p.config), p.startControllers(ctx, b.kubernetes)); err != nil {
			return err
		}
		if _, err := p.start(ctx, b.manager); err != nil {
			return err
		}
		b.say("%d Echoes with %d pods", b.inCluster, b.pods*b.inCluster)
		err := b.observe(ctx, p, "cluster.create", b.inCluster, func() error {
			if err := b.forEach(ctx, func(echo *v1.Echo) error { return p.client.Create(ctx, echo) }); err != nil {
				return err
			}
			return p.awaitReady(ctx, b.inCluster, controlplane.EchoServerImage)
		})
		if err != nil {
			return err
		}
		p.kill(p.current)
		err = b.observe(ctx, p, "cluster.roll", b.inCluster, func() error {
			if _, err := p.start(ctx, b.manager, "--echo-server-image="+rolledImage); err != nil {
				return err
			}
			return p.awaitReady(ctx, b.inCluster, rolledImage)
		})
		if err != nil {
			return err
		}
		return b.observe(ctx, p, "cluster.delete", b.inCluster, func() error {
			if err := b.forEach(ctx, func(echo *v1.Echo) error { return p.client.Delete(ctx, echo) }); err != nil {
				return err
			}
			return p.awaitQuiet(ctx, b.inCluster, func(echoes []v1.Echo, deployments []appsv1.Deployment) bool {
				return len(echoes)+len(deployments) == 0 // a Deployment waits for its pods
			})
		})
	})
}

// forEach calls a function for each Echo on the cluster.
func (b *benchmark) forEach(ctx context.Context, function func(*v1.Echo) error) error {
	return parallel(ctx, b.inCluster, func(_ context.Context, i int) error { return function(newEcho(clusterNamespace(i), i, b.pods)) })
}

// addNamespacesAndNode adds a node without its taints, because the controller that usually removes the taints is not running.
func (p *controlPlane) addNamespacesAndNode(ctx context.Context) error {
	for i := range clusterNamespaces {
		if err := p.client.Create(ctx, &corev1.Namespace{Name: clusterNamespace(i)}); err != nil {
			return err
		}
	}
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100k"), corev1.ResourceMemory: resource.MustParse("1Pi"),
		corev1.ResourcePods: resource.MustParse("100k")}
	node := &corev1.Node{Name: "node", Labels: map[string]string{corev1.LabelHostname: "node", corev1.LabelOSStable: "linux"}}
	node.Status = corev1.NodeStatus{Capacity: room, Allocatable: room,
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}}
	if err := p.client.Create(ctx, node); err != nil {
		return err
	}
	return p.client.Patch(ctx, node, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"taints":null}}`)))
}

// startControllers starts the scheduler and the controllers that pods require, with high limits on API requests. It omits the disruption
// controller, which reads all PodDisruptionBudgets in the namespace for each pod event. With thousands of PodDisruptionBudgets, these reads
// would take longer than everything else.
func (p *controlPlane) startControllers(ctx context.Context, kubernetes string) error {
	for name, arguments := range map[string][]string{"kube-scheduler": nil, "kube-controller-manager": {
		"--use-service-account-credentials", "--controllers=deployment-controller,replicaset-controller,garbage-collector-controller",
		"--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20", "--concurrent-gc-syncs=20",
	}} {
		if _, err := p.addUser("system:" + name); err != nil {
			return err
		}
		arguments = append(arguments, "--kubeconfig="+p.kubeconfig("system:"+name), "--kube-api-qps=5000", "--kube-api-burst=5000",
			"--leader-elect=false", "--secure-port=0")
		if _, err := p.launch(ctx, name, filepath.Join(kubernetes, name), arguments); err != nil {
			return err
		}
	}
	return nil
}

// awaitReady waits until n Echoes are ready, and their Deployments are rolled out, so that an operator that does too little does not appear
// to be fast.
func (p *controlPlane) awaitReady(ctx context.Context, n int, image string) error {
	return p.awaitQuiet(ctx, n, func(echoes []v1.Echo, deployments []appsv1.Deployment) bool {
		isNotReady := func(e v1.Echo) bool { return e.Status.Phase != v1.PhaseReady }
		isNotRolledOut := func(d appsv1.Deployment) bool {
			s, want := &d.Status, *d.Spec.Replicas
			return d.Spec.Template.Spec.Containers[0].Image != image || s.Replicas != want || s.UpdatedReplicas != want || s.ReadyReplicas != want || s.ObservedGeneration != d.Generation
		}
		return len(echoes) == n && len(deployments) == n && !slices.ContainsFunc(echoes, isNotReady) &&
			!slices.ContainsFunc(deployments, isNotRolledOut)
	})
}

// awaitQuiet waits until nothing happens and a condition is met. It lists the Echoes only when nothing happens, because lists use CPU time.
func (p *controlPlane) awaitQuiet(ctx context.Context, n int, met func([]v1.Echo, []appsv1.Deployment) bool) error {
	return poll(ctx, time.Second, timeoutFor(n), func(ctx context.Context) (bool, error) {
		if err := p.quiet(ctx); err != nil {
			return false, ctx.Err() // the cluster is busy for a long time with many Echoes
		}
		echoes, deployments := &v1.EchoList{}, &appsv1.DeploymentList{}
		err := errors.Join(p.client.List(ctx, echoes), p.client.List(ctx, deployments)) // fails on a busy machine
		return err == nil && met(echoes.Items, deployments.Items), ctx.Err()
	})
}
