package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	stages, err := c.stages(ctx)
	if err != nil {
		return err
	}
	kwok := process{name: "kwok", path: filepath.Join(tools["kwok"], "kwok"), ready: c.nodeReady, args: append(stages,
		"--kubeconfig="+c.kubeconfig(), "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--node-lease-duration-seconds=40")} // without a lease the node counts as lost after a minute
	if err := run(ctx, filepath.Join(tools["kubernetes"], "kubectl"), "--kubeconfig="+c.kubeconfig(), "create", "-f", filepath.Join(c.Data, "node.yaml")); err != nil {
		return err
	}
	if err := c.launch(ctx, kwok); err != nil {
		return err
	}
	return writeFile(c.startedFile(), nil)
}

// stages are kwok's rules of how nodes and pods live, from the release of kwok that is pinned.
func (c *simulatedCluster) stages(ctx context.Context) ([]string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	command.Dir = filepath.Join(c.Root, "tools", "kwok")
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("looking for kwok's stages: %w", err)
	}
	var stages []string
	for _, pattern := range []string{"node/fast/node-*.yaml", "node/heartbeat-with-lease/node-*.yaml", "pod/fast/pod-*.yaml"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(output)), "kustomize", "stage", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("kwok has no stages %s (%w)", pattern, err)
		}
		for _, file := range files {
			stages = append(stages, "--config="+file)
		}
	}
	return stages, nil
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
