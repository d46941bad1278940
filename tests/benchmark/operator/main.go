// operator compares the operator with a raw writer that sends the same requests at the lowest possible cost. It prints a Markdown table.
// Run it with `make benchmark` or `make benchmark-scale`.
//
// Each measurement has its own etcd and kube-apiserver. Only the cluster measurement has controllers and simulated kubelets.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/echo-operator/echo-operator/tests/benchmark/operator/figures"
	"github.com/echo-operator/echo-operator/tests/benchmark/operator/testbed"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "operator benchmark: "+err.Error())
		os.Exit(1)
	}
}

// measurement is a part of the benchmark.
type measurement struct {
	name string
	run  func(*benchmark, context.Context) error
}

func measurements() []measurement {
	return []measurement{
		{"converge", (*benchmark).converge},
		{"restart", (*benchmark).restart},
		{"single", (*benchmark).single},
		{"start", (*benchmark).start},
		{"failover", (*benchmark).failover},
		{"noop", (*benchmark).noop},
		{"size", (*benchmark).size},
		{"cluster", (*benchmark).cluster},
	}
}

func run(ctx context.Context, arguments []string) (err error) {
	testing.Init() // for testing.Benchmark
	b := &benchmark{began: time.Now(), figures: figures.Set{}}
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.StringVar(&b.raw, "raw", "bin/benchmark/raw", "the program that sends prepared writes")
	flags.StringVar(&b.bare, "bare", "bin/benchmark/bare", "the manager that does nothing")
	flags.StringVar(&b.manager, "manager", "bin/linux-amd64/manager", "the operator")
	flags.StringVar(&b.kubernetes, "kubernetes", "", "the directory of kube-controller-manager and kube-scheduler, which cluster requires")
	flags.IntVar(&b.n, "n", 1000, "the number of Echoes to create")
	flags.IntVar(&b.large, "large", 2000, "the number of Echoes that exist when the operator restarts")
	flags.IntVar(&b.rounds, "rounds", 3, "the number of measurements of each client")
	flags.IntVar(&b.inCluster, "cluster", 0,
		"the largest number of Echoes on a cluster with controllers and simulated pods; 0 to skip this measurement")
	flags.IntVar(&b.pods, "pods", testbed.PodsPerEcho, fmt.Sprintf("the number of pods of each Echo on this cluster, 1 to %d", controlplane.MaxReplicas))
	flags.StringVar(&b.only, "only", "",
		"the measurements to make, separated by commas; all if empty. You can also name parts: pods, a part of restart, and few and many, the "+
			"parts of cluster")
	flags.StringVar(&b.json, "json", "", "the file to write all figures to")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if b.pods < 1 || b.pods > controlplane.MaxReplicas {
		return fmt.Errorf("-pods=%d: an Echo has 1 to %d pods", b.pods, controlplane.MaxReplicas)
	}
	folder, err := os.MkdirTemp("", "operator-benchmark")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a temporary directory
	b.template = filepath.Join(folder, "template.json")
	if err := b.record(ctx); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	for _, m := range measurements() {
		if !b.selects(m.name) {
			continue
		}
		if err := m.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return b.report(os.Stdout)
}
