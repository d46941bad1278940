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

// enter returns a command prefix that runs a program in the cluster's network namespace. `ip netns exec` does not work, because it remounts
// /sys without the cgroups.
func (s *settings) enter() []string { return []string{"nsenter", "--net=" + s.namespaceFile(), "--"} }

// createNetwork creates a network namespace, and links it to the host. It does not change other interfaces or the host's firewall.
func (s *settings) createNetwork(ctx context.Context) error {
	done := step("creating the network")
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
		// Without this setting, pods on the same node could not connect to each other through a Service.
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

// networkFree returns an error if the addresses of the link between the host and the cluster are in use.
func (s *settings) networkFree(ctx context.Context) error {
	output, err := exec.CommandContext(ctx, "ip", "-4", "-o", "addr", "show", "to", s.HostAddress+"/24").Output()
	if err != nil {
		return fmt.Errorf("listing the addresses of the host: %w", err)
	}
	if text := strings.TrimSpace(string(output)); text != "" {
		return fmt.Errorf("the network %s/24 is in use on this machine: %s", s.HostAddress, text)
	}
	return nil
}

// removeNetwork removes the namespace and the link, together with all of the cluster's addresses and firewall rules.
func (s *settings) removeNetwork(ctx context.Context) error {
	if exists(s.namespaceFile()) {
		if err := run(ctx, "ip", "netns", "del", s.Name); err != nil {
			return err
		}
	}
	if err := run(ctx, "ip", "link", "del", hostLink); err != nil && exists(filepath.Join("/sys/class/net", hostLink)) {
		return err // if the link is gone, it was removed together with the namespace
	}
	return nil
}
