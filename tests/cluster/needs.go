package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// need is a file that the cluster with real containers runs, and the Debian package that brings it.
type need struct{ file, pkg string }

func needs() []need {
	return []need{
		{"containerd", "containerd"},
		{"ctr", "containerd"},
		{"runc", "runc"},
		{"/usr/lib/cni/bridge", "containernetworking-plugins"},
		{"iptables", "iptables"},
		{"nft", "nftables"},
		{"ip", "iproute2"},
		{"nsenter", "util-linux"},
		{"mount", "mount"},
		{"ps", "procps"},
		{"buildah", "buildah"},
	}
}

// missing are the Debian packages whose files are not there.
func missing() []string {
	var packages []string
	for _, n := range needs() {
		if _, err := exec.LookPath(n.file); err != nil && !slices.Contains(packages, n.pkg) {
			packages = append(packages, n.pkg)
		}
	}
	return packages
}

// realImpossible says why real containers cannot run here; empty when they can, perhaps after installing packages.
func realImpossible() string {
	_, noApt := exec.LookPath("apt-get")
	packages := missing()
	switch {
	case runtime.GOOS != "linux":
		return "this is not Linux"
	case os.Geteuid() != 0:
		return "this user is not root"
	case len(packages) > 0 && noApt != nil:
		return "these are missing and there is no apt-get to install them: " + strings.Join(packages, " ")
	default:
		return ""
	}
}

// install brings the packages that are missing.
func install(ctx context.Context) error {
	packages := missing()
	if len(packages) == 0 {
		return nil
	}
	done := step("installing " + strings.Join(packages, " "))
	if err := run(ctx, "apt-get", "update", "-q"); err != nil {
		return err
	}
	if err := run(ctx, "env", append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends"},
		packages...)...); err != nil {
		return err
	}
	if left := missing(); len(left) > 0 {
		return fmt.Errorf("installed, but still missing: %s", strings.Join(left, " "))
	}
	done()
	return nil
}
