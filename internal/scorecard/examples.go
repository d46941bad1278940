package scorecard

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

// examples tests that the API server accepts every example in the bundle, and that each example becomes Ready and can be deleted.
func (c *cluster) examples(ctx context.Context, b bundle.Bundle) ([]string, error) {
	all, err := b.Examples()
	if err != nil {
		return nil, err
	}
	var created, problems []string
	for _, example := range all {
		name, err := c.createExample(ctx, example)
		if err != nil {
			problems = append(problems, fmt.Sprintf("example %s: %s", example.GetName(), err))
			continue
		}
		created = append(created, name)
	}
	for _, name := range created {
		if err := c.waitReady(ctx, name); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if err := c.remove(ctx, created...); err != nil {
		problems = append(problems, err.Error())
	}
	return problems, nil
}

// createExample creates a copy of an example with a generated name, and returns the name. It returns an error if the example contains a
// field that the API server does not know.
func (c *cluster) createExample(ctx context.Context, example unstructured.Unstructured) (string, error) {
	if example.GroupVersionKind() != v1.GroupVersion.WithKind("Echo") {
		return "", fmt.Errorf("it is a %s, but this test supports only Echo", example.GroupVersionKind())
	}
	echo := example.DeepCopy()
	echo.SetNamespace(c.namespace)
	echo.SetGenerateName(prefix + example.GetName() + "-")
	echo.SetName("")
	if err := c.Create(ctx, echo, client.FieldValidation("Strict")); err != nil {
		return "", err
	}
	c.logf("created example %s as %s", example.GetName(), echo.GetName())
	return echo.GetName(), nil
}
