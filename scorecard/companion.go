package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// companionOf requests a companion for a pod of an Echo, removes the request, and returns the companion that the pod had. Only the operator
// deletes a companion whose owner still exists.
func (c *cluster) companionOf(ctx context.Context, echo *v1.Echo) (*corev1.Pod, error) {
	owner, err := c.podOf(ctx, echo)
	if err != nil {
		return nil, err
	}
	if err := c.label(ctx, owner, fmt.Sprintf("%q", echo.Name)); err != nil {
		return nil, err
	}
	var companion *corev1.Pod
	err = c.until(ctx, func(ctx context.Context) (bool, error) {
		companion, err = c.companion(ctx, owner)
		return companion != nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("the pod %s has no companion after %s: %w", owner.Name, c.patience, err)
	}
	if err := c.label(ctx, owner, "null"); err != nil {
		return nil, err
	}
	err = c.until(ctx, func(ctx context.Context) (bool, error) {
		left, err := c.companion(ctx, owner)
		return left == nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("the companion of the pod %s still exists %s after its label was removed: %w", owner.Name, c.patience, err)
	}
	c.logf("the companion %s was created and deleted", companion.Name)
	return companion, nil
}

// podOf returns a pod of an Echo.
func (c *cluster) podOf(ctx context.Context, echo *v1.Echo) (*corev1.Pod, error) {
	list := &corev1.PodList{}
	err := c.List(ctx, list, client.InNamespace(echo.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "echo", "app.kubernetes.io/instance": echo.Name})
	if err == nil && len(list.Items) == 0 {
		err = fmt.Errorf("the Echo %s is Ready and has no pod", echo.Name)
	}
	if err != nil {
		return nil, err
	}
	return &list.Items[0], nil
}

// label sets the companion label of a pod to the name of an Echo in JSON, or removes it if that is null.
func (c *cluster) label(ctx context.Context, pod *corev1.Pod, echo string) error {
	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: %s}}}`, v1.CompanionLabel, echo)
	return c.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// companion returns the companion of a pod, or nil.
func (c *cluster) companion(ctx context.Context, owner *corev1.Pod) (*corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := c.List(ctx, list, client.InNamespace(owner.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "echo-companion"}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if metav1.IsControlledBy(&list.Items[i], owner) {
			return &list.Items[i], nil
		}
	}
	return nil, nil //nolint:nilnil // having no companion is not an error
}
