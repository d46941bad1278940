package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	hostLink = "echo-cluster0"
	nodeLink = "eth0"
)

func (s *settings) namespaceFile() string { return filepath.Join("/run/netns", s.Name) }

// enter is the command through which something runs in the cluster's network. `ip netns exec` would not do: it mounts /sys
// anew, without the control groups.
func (s *settings) enter() []string { return []string{"nsenter", "--net=" + s.namespaceFile(), "--"} }

// createNetwork makes a network namespace and a link to it. Nothing of the host's own network or firewall changes.
func (s *settings) createNetwork(ctx context.Context) error {
	done := step("making the network")
	if err := s.networkFree(ctx); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"ip", "netns", "add", s.Name},
		{"ip", "link", "add", hostLink, "type", "veth", "peer", "name", nodeLink, "netns", s.Name},
		{"ip", "addr", "add", s.HostAddress + "/24", "dev", hostLink},
		{"ip", "link", "set", hostLink, "up"},
		s.inside("ip", "link", "set", "lo", "up"),
		s.inside("ip", "addr", "add", s.NodeAddress+"/24", "dev", nodeLink),
		s.inside("ip", "link", "set", nodeLink, "up"),
		s.inside("ip", "route", "add", "default", "via", s.HostAddress),
		s.inside("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"),
		// Without it, a pod could not reach itself or a neighbour through a Service.
		s.inside("sh", "-c", "[ -e /proc/sys/net/bridge ] || modprobe br_netfilter; echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables"),
	} {
		if err := run(ctx, command[0], command[1:]...); err != nil {
			return err
		}
	}
	done()
	return nil
}

func (s *settings) inside(command ...string) []string { return append(s.enter(), command...) }

// networkFree fails when something else uses the addresses between host and cluster.
func (s *settings) networkFree(ctx context.Context) error {
	output, err := exec.CommandContext(ctx, "ip", "-4", "-o", "addr", "show", "to", s.HostAddress+"/24").Output()
	if err != nil {
		return fmt.Errorf("looking at the host's addresses: %w", err)
	}
	if text := strings.TrimSpace(string(output)); text != "" {
		return fmt.Errorf("the network %s/24 is in use on this machine: %s", s.HostAddress, text)
	}
	return nil
}

// removeNetwork takes the namespace and the link away, and with them every address and firewall rule of the cluster.
func (s *settings) removeNetwork(ctx context.Context) error {
	if exists(s.namespaceFile()) {
		if err := run(ctx, "ip", "netns", "del", s.Name); err != nil {
			return err
		}
	}
	if err := run(ctx, "ip", "link", "del", hostLink); err != nil && exists(filepath.Join("/sys/class/net", hostLink)) {
		return err // not merely gone with the namespace
	}
	return nil
}
