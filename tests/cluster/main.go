// cluster manages the Kubernetes cluster for the demo and the end-to-end tests.
//
// usage: go run ./tests/cluster COMMAND      (in the root of the project)
//
//	up                      start the cluster, unless it is already running
//	down                    stop it, and keep its logs and the images in its registry
//	wipe                    stop it and remove all its files
//	kubeconfig              print the path of its kubeconfig
//	start NAME -- PROGRAM   start a program that stops with the cluster (simulated clusters only)
//
// On Linux, as root, the cluster runs real containers. Otherwise, the cluster simulates pods. If KUBECONFIG is set, the program uses the
// cluster that it specifies, and neither starts nor stops this cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/echo-operator/echo-operator/tests/cluster/machine"
)

// cluster is a cluster of any kind.
type cluster interface {
	up(context.Context) error
	down(context.Context) error
	wipe(context.Context) error
	kubeconfig() string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "\ncluster: "+err.Error())
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func command(ctx context.Context, arguments []string) error {
	if len(arguments) == 2 && arguments[0] == "check-http" { // for internal use: runs in the cluster's network namespace
		return checkHTTP(ctx, arguments[1])
	}
	c, err := choose()
	if err != nil {
		return err
	}
	commands := map[string]func() error{
		"up":         func() error { return locked(ctx, c.up) },
		"down":       func() error { return locked(ctx, c.down) },
		"wipe":       func() error { return locked(ctx, c.wipe) },
		"kubeconfig": func() error { return printKubeconfig(c) },
		"start":      func() error { return start(ctx, c, arguments[1:]) },
	}
	if len(arguments) == 0 || commands[arguments[0]] == nil {
		return fmt.Errorf("specify one of these commands: %v", slices.Sorted(maps.Keys(commands)))
	}
	return commands[arguments[0]]()
}

func printKubeconfig(c cluster) error {
	if _, err := os.Stat(c.kubeconfig()); err != nil {
		return fmt.Errorf("the cluster is not running: start it with 'make cluster-up' (%w)", err)
	}
	_, err := fmt.Println(c.kubeconfig())
	return err
}

// choose returns the cluster to use.
func choose() (cluster, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	cache, err := machine.Cache()
	if err != nil {
		return nil, err
	}
	choice := machine.Choose(cache)
	switch choice.Kind {
	case machine.Given:
		return givenCluster(os.Getenv("KUBECONFIG")), nil
	case machine.Simulated:
		return &simulatedCluster{settings: simulatedSettings(root, choice.Data)}, nil
	default:
		return &realCluster{settings: realSettings(root, choice.Data)}, nil
	}
}

// locked runs a task that starts or stops a cluster. No two of these tasks can run at the same time.
func locked(ctx context.Context, task func(context.Context) error) error {
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("echo-cluster-%d.lock", os.Geteuid())), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		fmt.Fprintln(os.Stderr, "cluster: waiting for another process that is starting or stopping it")
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			return err
		}
	}
	return task(ctx)
}

// start starts a program in a simulated cluster. In clusters of other kinds, programs run in pods.
func start(ctx context.Context, c cluster, arguments []string) error {
	simulated, ok := c.(*simulatedCluster)
	if !ok || len(arguments) < 3 || arguments[1] != "--" {
		return errors.New("usage: start NAME -- PROGRAM ARGUMENTS..., with a simulated cluster")
	}
	program, err := exec.LookPath(arguments[2])
	if err != nil {
		return err
	}
	return simulated.replace(ctx,
		process{name: arguments[0], path: program, args: arguments[3:], env: []string{"KUBECONFIG=" + c.kubeconfig()}})
}

// givenCluster is an existing cluster, identified by the path of its kubeconfig. The existing cluster is neither started nor stopped.
type givenCluster string

func (c givenCluster) up(ctx context.Context) error {
	client, err := newClientset(c.kubeconfig())
	if err == nil {
		_, err = client.Discovery().ServerVersionWithContext(ctx)
	}
	if err != nil {
		return fmt.Errorf("the cluster in KUBECONFIG=%s does not respond: %w", c, err)
	}
	return nil
}

func (c givenCluster) down(context.Context) error { return nil }

func (c givenCluster) wipe(context.Context) error {
	return errors.New("KUBECONFIG selects a cluster that this program did not start: unset it to wipe the test cluster")
}

func (c givenCluster) kubeconfig() string { return string(c) }
