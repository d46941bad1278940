package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// wholeNode represents all processes that stop when a node stops: containerd, the kubelet and the processes in pods.
const wholeNode = "node"

// nodeNames returns the names of the processes that run a node's pods, in the order in which these processes start.
func nodeNames() []string { return []string{"containerd", "kubelet"} }

// withNodeNames replaces wholeNode with the names of its processes.
func withNodeNames(names []string) []string {
	if !slices.Contains(names, wholeNode) {
		return names
	}
	return append(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == wholeNode }), nodeNames()...)
}

// kill kills processes with SIGKILL, so that they cannot clean up.
func (c *realCluster) kill(ctx context.Context, names []string) error {
	for _, name := range withNodeNames(names) {
		if !exists(c.pidFile(name)) {
			return fmt.Errorf("the cluster has no process %q", name)
		}
		if err := c.killRecorded(ctx, name); err != nil {
			return err
		}
	}
	if slices.Contains(names, wholeNode) {
		return c.killAll(ctx, c.podMembers)
	}
	return nil
}

// revive restarts processes that are not running. The processes keep their settings and files.
func (c *realCluster) revive(ctx context.Context, names []string) error {
	tools, err := c.tools(ctx, "apiserver", "kubernetes", "coredns", "registry")
	if err != nil {
		return err
	}
	join, err := c.createGroups()
	if err != nil {
		return err
	}
	for _, p := range slices.Concat(c.controlPlane(tools, defaultPorts()), c.nodeProcesses(tools)) {
		if !slices.Contains(withNodeNames(names), p.name) || len(c.recorded(p.name)) > 0 {
			continue
		}
		if err := c.launch(ctx, p, slices.Concat(join, c.enter())...); err != nil {
			return err
		}
	}
	return nil
}

// podMembers returns the IDs of the processes in pods, and of the containerd shims that monitor these pods.
func (c *realCluster) podMembers() ([]int, error) {
	groups, err := c.groups()
	if err != nil {
		return nil, err
	}
	inPods := func(group string) bool { return strings.Contains(group, "/"+c.Name+"/kubepods") }
	pods := membersOf(slices.DeleteFunc(slices.Clone(groups), func(group string) bool { return !inPods(group) }))
	others := membersOf(slices.DeleteFunc(groups, inPods))
	return append(pods, slices.DeleteFunc(others, func(pid int) bool { return !isShim(pid) })...), nil
}

// isShim reports whether a process is a containerd shim, which monitors a pod's containers. A shim continues to run after containerd has
// stopped.
func isShim(pid int) bool {
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return err == nil && strings.HasPrefix(string(name), "containerd-shim")
}
