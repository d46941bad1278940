// echo-scorecard runs one of the scorecard tests of the Echo Operator: of its bundle, or of the operator that runs in the cluster.
// Scorecard runs it in a pod with the bundle in /bundle, and parses its output as the result.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
	"github.com/echo-operator/echo-operator/scorecard/descriptors"
)

// status is the output that scorecard parses: TestStatus of its API.
type status struct {
	Results []result `json:"results"`
}

type result struct {
	Name   string   `json:"name"`
	State  string   `json:"state"`
	Log    string   `json:"log,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

func main() {
	// The log of a pod includes stderr, but scorecard expects only the result.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	outcome := run(ctx, strings.Join(os.Args[1:], " "), "/bundle", os.Getenv("SCORECARD_NAMESPACE"))
	stop()
	if err := json.NewEncoder(os.Stdout).Encode(status{Results: []result{outcome}}); err != nil {
		fmt.Fprintln(os.Stderr, "echo-scorecard: "+err.Error())
		os.Exit(1)
	}
}

// run runs the test of the given name.
func run(ctx context.Context, name, folder, namespace string) result {
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
		return nil, fmt.Errorf("there is no test %q: the tests are descriptors, examples, permissions and restricted", name)
	}
}

// resultOf returns the result of a test with the problems that it found, and the error if it could not be completed.
func resultOf(name string, problems []string, err error, log string) result {
	r := result{Name: name, State: "pass", Log: log, Errors: problems}
	if len(problems) > 0 {
		r.State = "fail"
	}
	if err != nil {
		r.State, r.Errors = "error", append(r.Errors, err.Error())
	}
	return r
}
