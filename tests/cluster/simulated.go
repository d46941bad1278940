package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/echo-operator/echo-operator/tests/cluster/kwok"
)

// simulatedCluster is a control plane without a node: kwok says of every pod that it runs. It needs no root and no Linux.
type simulatedCluster struct{ settings }

// up starts the cluster, unless it runs. What an earlier one left is cleared first.
func (c *simulatedCluster) up(ctx context.Context) error {
	if c.intact(ctx) {
		fmt.Fprintln(os.Stderr, "cluster: is running")
		return nil
	}
	tools, err := c.tools(ctx, "kubernetes", "kwok")
	if err != nil {
		return err
	}
	if err := c.down(ctx); err != nil {
		return err
	}
	ports, err := c.freePorts()
	if err != nil {
		return err
	}
	if err := c.writeIdentities(); err != nil {
		return err
	}
	for _, p := range c.controlPlane(tools["kubernetes"], ports) {
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
	if err := run(ctx, filepath.Join(tools["kubernetes"], "kubectl"), "--kubeconfig="+c.kubeconfig(), "create", "-f", filepath.Join(c.Data, "node.yaml")); err != nil {
		return err
	}
	if err := c.launch(ctx, process{name: "kwok", path: filepath.Join(tools["kwok"], "kwok"), ready: c.nodeReady, args: arguments}); err != nil {
		return err
	}
	return writeFile(c.startedFile(), nil)
}

// replace starts a program that ends with the cluster, in place of an earlier one of the same name.
func (c *simulatedCluster) replace(ctx context.Context, p process) error {
	if err := c.endRemembered(ctx, p.name); err != nil {
		return err
	}
	return c.launch(ctx, p)
}

// down stops the cluster and forgets all that was in it.
func (c *simulatedCluster) down(ctx context.Context) error {
	done := step("clearing away")
	if err := c.endRemembered(ctx, "*"); err != nil {
		return err
	}
	if err := os.RemoveAll(c.Data); err != nil {
		return err
	}
	done()
	return nil
}

func (c *simulatedCluster) wipe(ctx context.Context) error { return c.down(ctx) }
