// timeline measures how long each step between the creation of an Echo and its readiness takes, in a cluster that runs the operator. It
// prints a Markdown table of the steps, and the operator's share of the total time. Run it with `make benchmark-timeline`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "timeline: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string) (err error) {
	flags := flag.NewFlagSet("timeline", flag.ContinueOnError)
	n := flags.Int("n", 100, "the number of Echoes to create one after another")
	output := flags.String("json", "", "the file to write all figures to")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *n < 1 {
		return fmt.Errorf("-n=%d: at least one Echo is required", *n)
	}
	k8s, err := support.NewClient(0)
	if err != nil {
		return err
	}
	namespace, err := createNamespace(ctx, k8s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k8s.Delete(context.WithoutCancel(ctx), namespace)) }()
	lines, err := measure(ctx, &observer{client: k8s, namespace: namespace.Name}, *n)
	if err != nil {
		return err
	}
	return newReport(lines).write(os.Stdout, *output)
}

func createNamespace(ctx context.Context, k8s client.Client) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{GenerateName: "timeline-",
		Labels: map[string]string{support.TestLabel: "true", "pod-security.kubernetes.io/enforce": "restricted"}}
	return namespace, k8s.Create(ctx, namespace)
}

// measure returns the timelines of n Echoes. Before these Echoes, it creates one Echo that it does not measure, so that the image has
// already been pulled.
func measure(ctx context.Context, o *observer, n int) ([]line, error) {
	const each = 10
	began := time.Now()
	var lines []line
	for i := range n + 1 {
		l, err := o.observe(ctx, fmt.Sprintf("echo-%03d", i))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			lines = append(lines, l)
		}
		if i%each == 0 {
			fmt.Fprintf(os.Stderr, "%4.0f s  %d of %d Echoes\n", time.Since(began).Seconds(), i, n)
		}
	}
	return lines, nil
}
