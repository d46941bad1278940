package main

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/tests/support"
)

// startPlaying plays Kubernetes' controllers for as long as the suite runs. What fails is tried again.
func startPlaying() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, play, 50*time.Millisecond)
	}()
	DeferCleanup(func() {
		stop()
		Eventually(done).Should(BeClosed())
	})
}

// nodeName is the node on which all pods are. A companion comes to no node: there is no scheduler.
const nodeName = "node"

func play(ctx context.Context) {
	deployments := &appsv1.DeploymentList{}
	if err := admin.List(ctx, deployments, client.InNamespace(scorecardNamespace)); err != nil {
		return
	}
	for _, d := range deployments.Items {
		pod := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
		pod.Namespace, pod.Name, pod.Spec.NodeName = d.Namespace, d.Name, nodeName
		if d.DeletionTimestamp != nil {
			_ = admin.Delete(ctx, pod, client.GracePeriodSeconds(0)) // a kubelet would say that it has ended
			continue
		}
		_ = admin.Create(ctx, pod)
		if d.Status.ObservedGeneration != d.Generation {
			_ = support.RollOut(ctx, admin, &d)
		}
	}
	for _, kind := range children.Kinds() {
		finishDeletions(ctx, kind)
	}
}

// finishDeletions lets objects go that are deleted in the foreground, as the garbage collector does.
func finishDeletions(ctx context.Context, kind client.Object) {
	gvk, err := admin.GroupVersionKindFor(kind)
	if err != nil {
		return
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk)
	if err := admin.List(ctx, list, client.InNamespace(scorecardNamespace)); err != nil {
		return
	}
	for _, object := range list.Items {
		if object.DeletionTimestamp == nil || !slices.Contains(object.Finalizers, metav1.FinalizerDeleteDependents) {
			continue
		}
		before := object.DeepCopy()
		object.Finalizers = nil
		_ = admin.Patch(ctx, &object, client.MergeFrom(before))
	}
}
