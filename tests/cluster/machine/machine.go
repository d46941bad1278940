// Package machine tells which kind of cluster this machine can run. It needs nothing but the standard library, so that the
// answer is there at once even where nothing was built before.
package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// The kinds of clusters.
const (
	// Real is a cluster with real containers.
	Real = "real"
	// Simulated is a real control plane whose pods are simulated.
	Simulated = "simulated"
	// Given is somebody else's, named by KUBECONFIG.
	Given = "given"
)

// Choice is a kind of cluster.
type Choice struct {
	Kind string
	// Why says why the cluster is of its kind.
	Why string
	// Data is where the cluster keeps its files; empty for Given.
	Data string
}

// realData is where a cluster with real containers keeps its files. There is one on a machine: its network has fixed
// addresses.
const realData = "/var/lib/echo-cluster"

// Choose tells which cluster is meant. Simulated clusters are kept under the folder cache, one for each copy of the project.
// A kubeconfig of the project's own clusters does not make these somebody else's.
func Choose(cache string) Choice {
	simulatedData := filepath.Join(cache, "simulated-cluster")
	given := os.Getenv("KUBECONFIG")
	own := []string{"", filepath.Join(realData, "kubeconfig"), filepath.Join(simulatedData, "kubeconfig")}
	if !slices.Contains(own, given) {
		return Choice{Kind: Given, Why: "KUBECONFIG names it"}
	}
	if reason := realImpossible(); reason != "" {
		return Choice{Kind: Simulated, Why: reason, Data: simulatedData}
	}
	return Choice{Kind: Real, Why: "this is Linux and this user is root", Data: realData}
}

// Cache is the folder for what the project builds: CACHE if set, else .cache in the project's root, which is the present
// folder.
func Cache() (string, error) {
	if cache := os.Getenv("CACHE"); cache != "" {
		return filepath.Abs(cache)
	}
	return filepath.Abs(".cache")
}

// need is a program that a cluster with real containers runs, and the Debian package that brings it.
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
		{"umount", "mount"},
	}
}

// MissingPackages are the Debian packages that a cluster with real containers needs and whose programs are not there.
func MissingPackages() []string {
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
	packages := MissingPackages()
	switch {
	case runtime.GOOS != "linux":
		return "this is not Linux"
	case os.Geteuid() != 0 && len(packages) > 0:
		return "this user is not root (and root would need the Debian packages " + strings.Join(packages, " ") + ")"
	case os.Geteuid() != 0:
		return "this user is not root"
	case len(packages) > 0 && noApt != nil:
		return "these Debian packages are missing and there is no apt-get to install them: " + strings.Join(packages, " ")
	default:
		return ""
	}
}
