package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/echo-operator/echo-operator/tests/support/controlplane"
	"github.com/echo-operator/echo-operator/tests/support/loopback"
)

// program is a process of the operator.
type program struct {
	command *exec.Cmd
	metrics string // address of the metrics endpoint
}

// start starts the operator.
func (p *controlPlane) start(ctx context.Context, path string, arguments ...string) (*program, error) {
	return p.startAs(ctx, controlplane.OperatorUser, path, arguments...)
}

// startAs is like start with a user's kubeconfig. The operator inherits the benchmark's environment, so you can try variables such as GOGC.
func (p *controlPlane) startAs(ctx context.Context, user, path string, arguments ...string) (*program, error) {
	metrics, err := loopback.ReserveAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.CreateTemp(p.folder, "operator-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the program has its own file descriptor
	arguments = append([]string{"--metrics-bind-address=" + metrics, "--metrics-cert-path=" + p.folder, "--health-probe-bind-address=0"},
		arguments...)
	g := &program{command: exec.CommandContext(ctx, path, arguments...), metrics: metrics}
	g.command.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig(user), "POD_NAMESPACE="+namespace,
		"RELATED_IMAGE_ECHO_SERVER="+controlplane.EchoServerImage)
	g.command.Stderr = log
	if err := g.command.Start(); err != nil {
		return nil, err
	}
	p.programs, p.current = append(p.programs, g), g
	return g, nil
}

// startQuiet starts the operator and waits until it has done all its work.
func (p *controlPlane) startQuiet(ctx context.Context, path string, arguments ...string) (*program, error) {
	g, err := p.start(ctx, path, arguments...)
	if err != nil {
		return nil, err
	}
	return g, errors.Join(p.awaitReconciles(ctx, g, 0), p.quiet(ctx))
}

func (g *program) pid() int { return g.command.Process.Pid }

// kill kills a program, which may have ended already.
func (p *controlPlane) kill(g *program) {
	_ = g.command.Process.Kill()
	_ = g.command.Wait()
	if g == p.current {
		p.current = nil
	}
	p.programs = slices.DeleteFunc(p.programs, func(other *program) bool { return other == g })
}

// awaitReconciles waits until a program serves its metrics and has made a number of reconciles.
func (p *controlPlane) awaitReconciles(ctx context.Context, g *program, wanted int) error {
	return poll(ctx, 50*time.Millisecond, startTimeout+timeoutFor(wanted), func(ctx context.Context) (bool, error) {
		c, err := p.countsOf(ctx, g)
		return err == nil && c.reconciles >= float64(wanted), nil
	})
}

// counts is what a program has done since it started.
type counts struct{ requests, conflicts, reconciles float64 }

// countsOf reads a program's metrics.
func (p *controlPlane) countsOf(ctx context.Context, g *program) (counts, error) {
	config := &rest.Config{Host: "https://" + g.metrics, BearerToken: p.token}
	config.Insecure, config.NegotiatedSerializer = true, clientgoscheme.Codecs // see addOperator
	c, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return counts{}, err
	}
	text, err := c.Get().AbsPath("/metrics").DoRaw(ctx)
	page, requests := string(text), "rest_client_requests_total"
	return counts{sumOf(page, requests, ""), sumOf(page, requests, `code="409"`),
		sumOf(page, "controller_runtime_reconcile_total", `controller="echo"`)}, err
}

// sumOf returns the sum of a metric's time series that have a label.
func sumOf(page, name, label string) float64 {
	total := 0.0
	for line := range strings.Lines(page) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		its, labels, _ := strings.Cut(series, "{")
		if its == name && strings.Contains(labels, label) {
			number, _ := strconv.ParseFloat(value, 64) // a metric that is not a number is missing from the sum
			total += number
		}
	}
	return total
}

// parallel calls a function for every number from 0 to count-1 in 16 goroutines. After an error, the context is done.
func parallel(ctx context.Context, count int, function func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range count {
		group.Go(func() error { return function(ctx, i) })
	}
	return group.Wait()
}
