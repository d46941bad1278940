// Package machine determines which kind of cluster this machine can run, and whether the machine has enough space. This package depends
// only on the standard library, so that it compiles quickly.
package machine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// These are the kinds of clusters.
const (
	// Real is a cluster with real containers.
	Real = "real"
	// Simulated is a real control plane with simulated pods.
	Simulated = "simulated"
	// Given is an existing cluster, which KUBECONFIG specifies.
	Given = "given"
)

// Choice describes the cluster that this machine uses.
type Choice struct {
	Kind string
	// Why is the reason for this choice.
	Why string
	// Data is the directory that contains the cluster's files. Data is empty if the kind is Given.
	Data string
}

// realData is the directory that contains the files of a cluster with real containers. A machine can have only one cluster with real
// containers, because the addresses of such a cluster are fixed.
const realData = "/var/lib/echo-cluster"

// Choose returns the cluster to use. Simulated clusters store their files in the cache directory, so that each copy of the project has its
// own cluster. If KUBECONFIG is already the kubeconfig of such a cluster, the kind is nevertheless Real or Simulated.
func Choose(cache string) Choice {
	simulatedData := filepath.Join(cache, "simulated-cluster")
	given := os.Getenv("KUBECONFIG")
	own := []string{"", filepath.Join(realData, "kubeconfig"), filepath.Join(simulatedData, "kubeconfig")}
	if !slices.Contains(own, given) {
		return Choice{Kind: Given, Why: "KUBECONFIG is set"}
	}
	if reason := realImpossible(); reason != "" {
		return Choice{Kind: Simulated, Why: reason, Data: simulatedData}
	}
	return Choice{Kind: Real, Why: "this is Linux and this user is root", Data: realData}
}

// Cache returns the directory that contains build results. The directory is the value of CACHE if that variable is set, and otherwise
// .cache in the project's root directory. The working directory must be the project's root directory.
func Cache() (string, error) {
	if cache := os.Getenv("CACHE"); cache != "" {
		return filepath.Abs(cache)
	}
	return filepath.Abs(".cache")
}

// need is a program that a cluster with real containers requires, and the Debian package that contains the program.
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

// MissingPackages returns the Debian packages that a cluster with real containers requires but that are not installed yet.
func MissingPackages() []string {
	var packages []string
	for _, n := range needs() {
		if _, err := exec.LookPath(n.file); err != nil && !slices.Contains(packages, n.pkg) {
			packages = append(packages, n.pkg)
		}
	}
	return packages
}

// realImpossible returns the reason why real containers cannot run on this machine. It returns "" if they can run, if necessary after
// packages have been installed.
func realImpossible() string {
	_, noApt := exec.LookPath("apt-get")
	packages := MissingPackages()
	switch {
	case runtime.GOOS != "linux":
		return "this is not Linux"
	case os.Geteuid() != 0 && len(packages) > 0:
		return "this user is not root, and these Debian packages are missing: " + strings.Join(packages, " ")
	case os.Geteuid() != 0:
		return "this user is not root"
	case len(packages) > 0 && noApt != nil:
		return "there is no apt-get, and these Debian packages are missing: " + strings.Join(packages, " ")
	default:
		return ""
	}
}

// minSpace is how many bytes must be free before tests may use a cluster. Images, logs and etcd's data use about half of this space. The
// kubelet evicts pods if free space falls below its eviction thresholds. Tests would then report only that a pod does not start or stop.
const minSpace = 2 << 30

// CheckSpace returns an error if there is too little free space in a directory's file system. The directory does not need to exist.
func CheckSpace(folder string) error {
	stat := syscall.Statfs_t{}
	for syscall.Statfs(folder, &stat) != nil && folder != "/" {
		folder = filepath.Dir(folder)
	}
	free := stat.Bavail * uint64(stat.Bsize)
	if free >= minSpace {
		return nil
	}
	return fmt.Errorf("the file system of %s has %d MiB left, but a cluster needs %d MiB: delete files, for example with 'go clean -cache'",
		folder, free>>20, uint64(minSpace)>>20)
}
