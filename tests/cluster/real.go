package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/echo-operator/echo-operator/tests/cluster/machine"
)

// realCluster is a single-node cluster with real containers in a separate network namespace.
type realCluster struct{ settings }

// up starts the cluster, unless it is already running. It first removes what remains of an earlier cluster.
func (c *realCluster) up(ctx context.Context) error {
	if err := c.installPackages(ctx); err != nil {
		return err
	}
	if err := machine.CheckSpace(c.Data); err != nil {
		return err
	}
	if c.isRunning(ctx) {
		fmt.Fprintln(os.Stderr, "cluster: already running")
		return nil
	}
	tools, err := c.tools(ctx, "apiserver", "kubernetes", "coredns", "registry")
	if err != nil {
		return err
	}
	if err := c.down(ctx); err != nil {
		return err
	}
	if err := c.createNetwork(ctx); err != nil {
		return err
	}
	join, err := c.createGroups()
	if err != nil {
		return err
	}
	prefix := slices.Concat(join, c.enter())
	if err := c.startRegistry(ctx, tools["registry"], prefix); err != nil {
		return err
	}
	if err := c.writeIdentities(); err != nil {
		return err
	}
	// The default ports are free in a separate network namespace.
	for _, p := range c.controlPlane(tools, controlPlanePorts{etcd: 2379, peer: 2380, controllerManager: 10257, scheduler: 10259}) {
		if err := c.launch(ctx, p, prefix...); err != nil {
			return err
		}
	}
	if err := c.startNode(ctx, tools, prefix); err != nil {
		return err
	}
	return writeFile(c.startedFile(), nil)
}

// tools builds sets of tools, and returns the directory that contains the programs of each set.
func (s *settings) tools(ctx context.Context, sets ...string) (map[string]string, error) {
	command := exec.CommandContext(ctx, filepath.Join(s.Root, "tools", "build"), sets...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("building the tool sets %v: %w", sets, err)
	}
	folders := map[string]string{}
	for i, folder := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		folders[sets[i]] = folder
	}
	return folders, nil
}

func (c *realCluster) startRegistry(ctx context.Context, bin string, prefix []string) error {
	if err := c.write("registry.yaml", "registry.yaml"); err != nil {
		return err
	}
	address := net.JoinHostPort(c.NodeAddress, strconv.Itoa(c.RegistryPort))
	registry := process{
		name: "registry", path: filepath.Join(bin, "registry"), args: []string{"serve", filepath.Join(c.Data, "registry.yaml")},
		env:   []string{"OTEL_TRACES_EXPORTER=none"},
		ready: func(ctx context.Context) error { return checkHTTP(ctx, "http://"+address+"/v2/") },
	}
	if err := c.launch(ctx, registry, prefix...); err != nil {
		return err
	}
	return c.pushPause(ctx)
}

// pushPause builds the pause image, which every pod uses, and pushes this image to the registry.
func (c *realCluster) pushPause(ctx context.Context) error {
	done := step("building the pause image")
	if err := run(ctx, "env", "CGO_ENABLED=0", "go", "build", "-C", c.Root, "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
		"-o", filepath.Join("bin", "linux-"+runtime.GOARCH, "pause"), "./tests/cluster/pause"); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, filepath.Join(c.Root, "tools", "make", "push-image"), "pause")
	command.Env = append(os.Environ(), "REGISTRY=", "PLATFORMS=")
	command.Dir = c.Root
	output, err := command.Output()
	if failed := (&exec.ExitError{}); errors.As(err, &failed) {
		return fmt.Errorf("building the pause image: %w: %s", err, failed.Stderr)
	} else if err != nil {
		return fmt.Errorf("building the pause image: %w", err)
	}
	c.PauseImage = strings.TrimSpace(string(output))
	done()
	return nil
}

// down stops the cluster, and removes all of the cluster's files except the logs and the images in its registry. This also works if the
// cluster has crashed, or has not started completely.
func (c *realCluster) down(ctx context.Context) error {
	done := step("stopping and cleaning up")
	for _, task := range []func(context.Context) error{c.killMembers, c.unmount, c.removeNetwork, c.removeGroups} {
		if err := task(ctx); err != nil {
			return err
		}
	}
	if err := c.removeFiles(); err != nil {
		return err
	}
	done()
	return nil
}

// wipe stops the cluster and removes all its files.
func (c *realCluster) wipe(ctx context.Context) error {
	if err := c.down(ctx); err != nil {
		return err
	}
	return os.RemoveAll(c.Data)
}

func (s *settings) installPackages(ctx context.Context) error {
	packages := machine.MissingPackages()
	if len(packages) == 0 {
		return nil
	}
	done := step("installing " + strings.Join(packages, " "))
	for _, arguments := range [][]string{{"update", "-qq"}, append([]string{"install", "-qq", "-y", "--no-install-recommends"}, packages...)} {
		aptGet := exec.CommandContext(ctx, filepath.Join(s.Root, "tools/make/retry"), append([]string{"apt-get"}, arguments...)...)
		aptGet.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		aptGet.Stderr = os.Stderr
		if err := aptGet.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w", arguments[0], err)
		}
	}
	if left := machine.MissingPackages(); len(left) > 0 {
		return fmt.Errorf("packages are missing after the installation: %s", strings.Join(left, " "))
	}
	done()
	return nil
}
