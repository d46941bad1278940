package scorecard

import (
	"context"
	"fmt"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
	"github.com/echo-operator/echo-operator/internal/scorecard/descriptors"
)

// Status is the output that scorecard parses. Its name in scorecard's API is TestStatus.
type Status struct {
	Results []Result `json:"results"`
}

// Result is the result of a test.
type Result struct {
	Name   string   `json:"name"`
	State  string   `json:"state"`
	Log    string   `json:"log,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

// Run runs the named test against the bundle in a directory, or against the operator in the cluster. Tests create Echoes in the given
// namespace.
func Run(ctx context.Context, name, folder, namespace string) Status {
	return Status{Results: []Result{run(ctx, name, folder, namespace)}}
}

func run(ctx context.Context, name, folder, namespace string) Result {
	b, err := bundle.Read(folder)
	if err != nil {
		return resultOf(name, nil, err, "")
	}
	if name == "descriptors" {
		return resultOf(name, descriptors.Problems(b), nil, "")
	}
	c, err := connect(namespace)
	if err != nil {
		return resultOf(name, nil, err, "")
	}
	problems, err := c.run(ctx, name, b)
	return resultOf(name, problems, err, c.log.String())
}

// run runs a test that needs a cluster.
func (c *cluster) run(ctx context.Context, name string, b bundle.Bundle) ([]string, error) {
	switch name {
	case "examples":
		return c.examples(ctx, b)
	case "permissions":
		return c.permissions(ctx, b)
	case "restricted":
		return c.restricted(ctx, b)
	default:
		return nil, fmt.Errorf("there is no test %q: the tests are descriptors, examples, permissions, and restricted", name)
	}
}

// resultOf returns the result of a test from the problems that the test found, or from the error if the test could not finish.
func resultOf(name string, problems []string, err error, log string) Result {
	r := Result{Name: name, State: "pass", Log: log, Errors: problems}
	if len(problems) > 0 {
		r.State = "fail"
	}
	if err != nil {
		r.State, r.Errors = "error", append(r.Errors, err.Error())
	}
	return r
}
