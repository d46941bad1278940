package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// removeFiles removes all of a cluster's files except its registry and its logs.
func (c *realCluster) removeFiles() error {
	entries, err := os.ReadDir(c.Data)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if path := filepath.Join(c.Data, entry.Name()); path != c.Registry && path != c.Logs {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	if err := os.RemoveAll(c.Run); err != nil {
		return err
	}
	return c.removeLeftovers()
}

// removeLeftovers removes the files that containerd, the kubelet and the network plug-ins write to fixed paths.
func (c *realCluster) removeLeftovers() error {
	leftovers, _ := filepath.Glob("/var/lib/cni/results/" + c.Name + "-*") // Glob returns an error only if the pattern is malformed
	for _, result := range leftovers {                                     // for each file, there is another file for the pod's loopback interface
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(result), c.Name+"-"), "-eth0")
		if loopback := "/var/lib/cni/results/cni-loopback-" + id + "-lo"; exists(loopback) {
			leftovers = append(leftovers, loopback)
		}
	}
	links, _ := filepath.Glob("/var/log/containers/*.log")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, c.Data+"/") {
			leftovers = append(leftovers, link)
		}
	}
	sockets, err := unusedSockets("/run/containerd/s/*", "/var/lib/kubelet/device-plugins/kubelet.sock")
	if err != nil {
		return err
	}
	for _, path := range append(leftovers, sockets...) {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// unusedSockets returns the sockets that no process listens on.
func unusedSockets(patterns ...string) ([]string, error) {
	inUse, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var unused []string
	for _, pattern := range patterns {
		sockets, _ := filepath.Glob(pattern)
		for _, socket := range sockets {
			if !strings.Contains(string(inUse), " "+socket+"\n") {
				unused = append(unused, socket)
			}
		}
	}
	return unused, nil
}

// mountsBelow returns the mount points below the given directories. Nested mounts come first.
func mountsBelow(folders ...string) ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var mounts []string
	for line := range strings.Lines(string(text)) {
		mount := unescape(strings.Fields(line)[4])
		for _, folder := range folders {
			if strings.HasPrefix(mount, folder+"/") {
				mounts = append(mounts, mount)
			}
		}
	}
	slices.Reverse(mounts)
	return mounts, nil
}

// unescape decodes the octal escapes of whitespace and backslashes in /proc/self/mountinfo.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// unmount removes the mounts that the kubelet and containerd created. Call unmount before any file is deleted, because the mounts can
// contain files from other directories.
func (s *settings) unmount(ctx context.Context) error {
	mounts, err := mountsBelow(s.Data, s.Run)
	if err != nil {
		return err
	}
	for _, mount := range mounts {
		if err := run(ctx, "umount", "--lazy", mount); err != nil {
			return err
		}
	}
	if mounts, err = mountsBelow(s.Data, s.Run); err == nil && len(mounts) > 0 {
		err = fmt.Errorf("still mounted: %v", mounts)
	}
	return err
}
