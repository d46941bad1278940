package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/echo-operator/echo-operator/tests/cluster/kwok"
)

// simulatedCluster is a control plane without a real node. It requires neither root nor Linux. kwok reports all pods as running.
type simulatedCluster struct{ settings }

// up starts the cluster, unless it is already running. It first removes what remains of an earlier cluster.
func (c *simulatedCluster) up(ctx context.Context) error {
	if c.isRunning(ctx) {
		fmt.Fprintln(os.Stderr, "cluster: already running")
		return nil
	}
	tools, err := c.tools(ctx, "apiserver", "kubernetes", "kwok")
	if err != nil {
		return err
	}
	if err := c.down(ctx); err != nil {
		return err
	}
	ports, err := c.freePorts(ctx)
	if err != nil {
		return err
	}
	if err := c.writeIdentities(); err != nil {
		return err
	}
	for _, p := range c.controlPlane(tools, ports) {
		if err := c.launch(ctx, p); err != nil {
			return err
		}
	}
	if err := c.write("node.yaml", "node.yaml"); err != nil {
		return err
	}
	arguments, err := kwok.Arguments(ctx, c.Root, c.kubeconfig())
	if err != nil {
		return err
	}
	if err := run(ctx, filepath.Join(tools["apiserver"], "kubectl"), "--kubeconfig="+c.kubeconfig(), "create", "-f",
		filepath.Join(c.Data, "node.yaml")); err != nil {
		return err
	}
	if err := c.launch(ctx,
		process{name: "kwok", path: filepath.Join(tools["kwok"], "kwok"), ready: c.nodeReady, args: arguments}); err != nil {
		return err
	}
	return writeFile(c.startedFile(), nil)
}

// replace starts a program that stops when the cluster stops. It first kills an earlier program with the same name.
func (c *simulatedCluster) replace(ctx context.Context, p process) error {
	if err := c.killRecorded(ctx, p.name); err != nil {
		return err
	}
	return c.launch(ctx, p)
}

// down stops the cluster and removes all its files.
func (c *simulatedCluster) down(ctx context.Context) error {
	done := step("stopping and cleaning up")
	if err := c.killRecorded(ctx, "*"); err != nil {
		return err
	}
	if err := os.RemoveAll(c.Data); err != nil {
		return err
	}
	done()
	return nil
}

func (c *simulatedCluster) wipe(ctx context.Context) error { return c.down(ctx) }
