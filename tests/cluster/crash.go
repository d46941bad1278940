package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// wholeNode is the name that stands for all processes that a node loses when it stops: containerd, the kubelet and those of pods.
const wholeNode = "node"

// nodeNames are the processes that start the pods of a node, in the order of their start.
func nodeNames() []string { return []string{"containerd", "kubelet"} }

// withNodeNames replaces wholeNode by the names of its processes.
func withNodeNames(names []string) []string {
	if !slices.Contains(names, wholeNode) {
		return names
	}
	return append(slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == wholeNode }), nodeNames()...)
}

// crash runs a task on processes of the cluster with real containers.
func crash(ctx context.Context, c cluster, names []string, task func(*realCluster, context.Context, []string) error) error {
	own, ok := c.(*realCluster)
	if !ok || len(names) == 0 {
		return errors.New("usage: kill NAME... or revive NAME..., with the cluster with real containers")
	}
	return locked(ctx, func(ctx context.Context) error { return task(own, ctx, names) })
}

// kill kills processes by SIGKILL, without the chance to clean up.
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

// revive starts processes again that do not run. It does not change their settings and files.
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

// podMembers returns the processes of pods, and those of containerd that watch over them.
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

// isShim reports whether a process is one of containerd that watches over the containers of a pod. It outlives containerd.
func isShim(pid int) bool {
	name, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "comm"))
	return err == nil && strings.HasPrefix(string(name), "containerd-shim")
}

// killAll kills the processes that a function returns. It repeats this until none is left, because they can start others meanwhile.
func (s *settings) killAll(ctx context.Context, which func() ([]int, error)) error {
	return await(ctx, func(context.Context) error {
		pids, err := which()
		if err != nil {
			return final{err}
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have exited meanwhile
		}
		if len(pids) > 0 {
			return fmt.Errorf("processes %v still run", pids)
		}
		return nil
	})
}
