// echo-scorecard is one of scorecard's tests of the Echo Operator: of its bundle, or of the operator that runs in the cluster.
// Scorecard runs it in a pod with the bundle in /bundle, and reads a result from all that it prints.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
	"github.com/echo-operator/echo-operator/scorecard/descriptors"
)

func main() {
	// A pod's log holds what goes to stderr, too, and scorecard takes nothing but the result.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	name := ""
	if len(os.Args) == 2 {
		name = os.Args[1]
	}
	outcome := runUntilTold(name)
	if err := json.NewEncoder(os.Stdout).Encode(status{Results: []result{outcome}}); err != nil {
		fmt.Fprintln(os.Stderr, "echo-scorecard: "+err.Error())
		os.Exit(1)
	}
}

// runUntilTold runs a test until it ends, or the pod does.
func runUntilTold(name string) result {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, name, "/bundle", os.Getenv("SCORECARD_NAMESPACE"))
}

// run runs a test by its name.
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
