package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
)

// awaitReady waits until all Echoes are ready with the given image. It fails if their Deployments are not rolled out soon afterward, so
// that an operator that does too little does not appear to be fast.
func (r *clusterRun) awaitReady(ctx context.Context, image string) error {
	err := r.awaitCount(ctx, func() (int, string) { return r.n - r.echoes.Ready(image), "Echoes are not ready" })
	if err != nil {
		return err
	}
	var problem error
	err = testbed.PollEvery(ctx, time.Second, testbed.StartTimeout, func(ctx context.Context) (bool, error) {
		problem = r.checkDeployments(ctx, image)
		return problem == nil, nil
	})
	if wait.Interrupted(err) {
		return problem
	}
	return err
}

// awaitGone waits until the Echoes and all their objects are gone.
func (r *clusterRun) awaitGone(ctx context.Context) error {
	err := r.awaitCount(ctx, func() (int, string) { return r.echoes.All(), "Echoes are left" })
	if err != nil {
		return err
	}
	kinds := append(objects.Kinds(nil), &appsv1.ReplicaSet{}, &corev1.Pod{})
	return testbed.PollEvery(ctx, time.Second, r.timeout(), func(ctx context.Context) (bool, error) {
		for _, kind := range kinds {
			if left, err := r.isLeft(ctx, kind); left || err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

// isLeft reports whether the Echoes' namespaces still contain an object of a kind.
func (r *clusterRun) isLeft(ctx context.Context, kind client.Object) (bool, error) {
	gvk, err := apiutil.GVKForObject(kind, r.Client.Scheme())
	if err != nil {
		return false, err
	}
	for _, namespace := range testbed.Namespaces() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk)
		if err := r.Client.List(ctx, list, client.InNamespace(namespace), client.Limit(1)); err != nil || len(list.Items) > 0 {
			return true, err
		}
	}
	return false, nil
}

// awaitCount waits until a count is 0, and prints the count from time to time.
func (r *clusterRun) awaitCount(ctx context.Context, count func() (int, string)) error {
	const every, often = 100 * time.Millisecond, 30 * time.Second
	told := time.Now()
	err := testbed.PollEvery(ctx, every, r.timeout(), func(context.Context) (bool, error) {
		left, what := count()
		if left > 0 && time.Since(told) > often {
			r.b.say("  %d %s", left, what)
			told = time.Now()
		}
		return left == 0, nil
	})
	if wait.Interrupted(err) {
		left, what := count()
		return fmt.Errorf("%d %s after %s", left, what, r.timeout())
	}
	return err
}

// checkDeployments fails unless each Echo has a Deployment that is rolled out with the given image.
func (r *clusterRun) checkDeployments(ctx context.Context, image string) error {
	const page = 500
	there, list := 0, &appsv1.DeploymentList{}
	for {
		if err := r.Client.List(ctx, list, client.Limit(page), client.Continue(list.Continue)); err != nil {
			return err
		}
		for i := range list.Items {
			if d := &list.Items[i]; !isRolledOut(d, image) {
				return fmt.Errorf("the Deployment %s/%s is not rolled out with %s: %v", d.Namespace, d.Name, image, d.Status)
			}
		}
		there += len(list.Items)
		if list.Continue == "" {
			break
		}
	}
	if there != r.n {
		return fmt.Errorf("there are %d Deployments for %d Echoes", there, r.n)
	}
	return nil
}

// isRolledOut reports whether all pods of a Deployment are ready and run the given image.
func isRolledOut(d *appsv1.Deployment, image string) bool {
	s, want := &d.Status, *d.Spec.Replicas
	return d.Spec.Template.Spec.Containers[0].Image == image && s.ObservedGeneration == d.Generation &&
		s.Replicas == want && s.UpdatedReplicas == want && s.ReadyReplicas == want
}
