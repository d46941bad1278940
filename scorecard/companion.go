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

// companionOf has a pod of an Echo ask for a companion and ask no more, and returns the companion that it had. The operator alone removes
// one whose owner stays.
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
		return nil, fmt.Errorf("the companion of the pod %s, which asks no more for it, is not gone after %s: %w", owner.Name, c.patience, err)
	}
	c.tell("the companion %s came and went", companion.Name)
	return companion, nil
}

// podOf is one of an Echo's own pods.
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

// label has a pod ask for a companion of an Echo, which is given in JSON.
func (c *cluster) label(ctx context.Context, pod *corev1.Pod, echo string) error {
	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: %s}}}`, v1.CompanionLabel, echo)
	return c.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(patch)))
}

// companion is the one that a pod has, nil for none.
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
	return nil, nil //nolint:nilnil // that there is none is an answer
}
