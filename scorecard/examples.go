package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

// examples tests that every example of the bundle is accepted, becomes Ready, and can be deleted.
func (c *cluster) examples(ctx context.Context, b bundle.Bundle) ([]string, error) {
	all, err := b.Examples()
	if err != nil {
		return nil, err
	}
	var created []*v1.Echo
	var problems []string
	for i := range all {
		echo, err := c.createExample(ctx, &all[i])
		if err != nil {
			problems = append(problems, fmt.Sprintf("example %s: %s", all[i].GetName(), err))
			continue
		}
		created = append(created, echo)
	}
	for _, echo := range created {
		if err := c.waitReady(ctx, echo); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if err := c.remove(ctx, created...); err != nil {
		problems = append(problems, err.Error())
	}
	return problems, nil
}

// createExample creates a copy of an example and fails if the API server does not know one of its fields.
func (c *cluster) createExample(ctx context.Context, example *unstructured.Unstructured) (*v1.Echo, error) {
	if example.GroupVersionKind() != v1.GroupVersion.WithKind("Echo") {
		return nil, fmt.Errorf("it is a %s, but this test only supports Echo", example.GroupVersionKind())
	}
	object := ownCopy(example, c.namespace)
	if err := c.Create(ctx, object, client.FieldValidation("Strict")); err != nil {
		return nil, err
	}
	c.logf("example %s is %s", example.GetName(), object.GetName())
	echo := &v1.Echo{}
	echo.Namespace, echo.Name = object.GetNamespace(), object.GetName()
	return echo, nil
}
