// operator measures the operator, and in the same run raw, which sends the operator's writes and does nothing else. It prints a Markdown
// table. Run it with `make benchmark` or `make benchmark-scale`. Each measurement has its own etcd and kube-apiserver.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "github.com/echo-operator/echo-operator/api/v1"
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

// benchmark is one run of the selected measurements.
type benchmark struct {
	manager          string // its path
	n, large, rounds int
	began            time.Time

	recorded *v1.Echo
	writes   []write // for this Echo, by the operator
	figures  figures
}

func run(ctx context.Context, arguments []string) (err error) {
	testing.Init() // for testing.Benchmark
	b := &benchmark{began: time.Now(), figures: figures{}}
	flags := flag.NewFlagSet("operator", flag.ContinueOnError)
	flags.StringVar(&b.manager, "manager", "bin/linux-amd64/manager", "the operator, next to the project's other programs")
	flags.IntVar(&b.n, "n", 1000, "the number of Echoes to create")
	flags.IntVar(&b.large, "large", 2000, "the number of Echoes that exist when the operator restarts")
	flags.IntVar(&b.rounds, "rounds", 3, "the number of measurements of each program")
	only := flags.String("only", "", "the measurements to make, separated by commas; all if empty")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if err := b.record(ctx); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	for _, m := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"converge", b.converge}, {"restart", b.restart}, {"failover", b.failover}, {"noop", b.noop}, {"size", b.size},
	} {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), m.name) {
			continue
		}
		if err = m.run(ctx); err != nil {
			err = fmt.Errorf("%s: %w", m.name, err)
			break
		}
	}
	fmt.Print(b.figures.table(b.rows()))
	return err
}

// add adds a figure and prints it.
func (b *benchmark) add(name string, value float64) {
	b.figures[name] = append(b.figures[name], value)
	b.say("  %s: %.3f", name, value)
}

// say prints progress.
func (b *benchmark) say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "%4.0f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, arguments...))
}

// onControlPlane runs a function on a new control plane. If the function fails, the logs of the programs stay.
func onControlPlane(ctx context.Context, function func(*controlPlane) error) error {
	p, err := startControlPlane(ctx)
	if err == nil {
		err = function(p)
	}
	if err != nil && ctx.Err() == nil {
		return errors.Join(fmt.Errorf("%w\nThe logs are in %s", err, p.folder), p.stop())
	}
	return errors.Join(err, p.stop(), os.RemoveAll(p.folder))
}

// size measures the programs that users download.
func (b *benchmark) size(context.Context) error {
	folder := filepath.Dir(b.manager)
	for name, path := range map[string]string{
		"operator": b.manager, "echoServer": filepath.Join(folder, "echo-server"), "kubectlEcho": filepath.Join(folder, "kubectl-echo"),
	} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		b.add("size."+name, float64(info.Size())/mega)
	}
	return nil
}
