package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/bundle"
	"github.com/echo-operator/echo-operator/scorecard/restricted"
)

// restricted tests that the pods of the operator and those of an Echo with defaults are restricted.
func (c *cluster) restricted(ctx context.Context, b bundle.Bundle) ([]string, error) {
	pods, err := c.operator(ctx, b)
	if err != nil {
		return nil, err
	}
	served, err := c.podsOfAnEcho(ctx)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, pod := range append(pods, served...) {
		found, err := restricted.Problems(&pod)
		if err != nil {
			return nil, err
		}
		c.logf("pod %s/%s: %d problems", pod.Namespace, pod.Name, len(found))
		for _, problem := range found {
			problems = append(problems, fmt.Sprintf("pod %s/%s %s", pod.Namespace, pod.Name, problem))
		}
	}
	return problems, nil
}

// podsOfAnEcho creates an Echo, returns its pods, and deletes it.
func (c *cluster) podsOfAnEcho(ctx context.Context) ([]corev1.Pod, error) {
	echo := plainEcho(c.namespace)
	if err := c.Create(ctx, echo); err != nil {
		return nil, err
	}
	pods, err := c.podsWhenReady(ctx, echo)
	return pods, errors.Join(err, c.remove(ctx, echo))
}

func (c *cluster) podsWhenReady(ctx context.Context, echo *v1.Echo) ([]corev1.Pod, error) {
	if err := c.waitReady(ctx, echo); err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	labels := client.MatchingLabels{"app.kubernetes.io/managed-by": "echo-operator", "app.kubernetes.io/instance": echo.Name}
	if err := c.List(ctx, list, client.InNamespace(echo.Namespace), labels); err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("the Echo %s is Ready and has no pods", echo.Name)
	}
	return list.Items, nil
}
