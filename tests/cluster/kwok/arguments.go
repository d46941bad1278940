// Package kwok returns the arguments of kwok, which simulates nodes and their kubelets.
package kwok

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Arguments returns the arguments that make kwok simulate all nodes with the annotation kwok.x-k8s.io/node=fake. kwok uses the stages from
// the release that the module tools/cluster pins, and one stage from this directory. root is the project's root directory.
func Arguments(ctx context.Context, root, kubeconfig string) ([]string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	command.Dir = filepath.Join(root, "tools", "cluster")
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("finding the stages of kwok: %w", err)
	}
	arguments := []string{"--kubeconfig=" + kubeconfig, "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
		"--node-lease-duration-seconds=40", // without a lease, the node would become unreachable after one minute
		"--config=" + filepath.Join(root, "tests", "cluster", "kwok", "pod-ready.yaml")}
	for _, pattern := range []string{"node/fast/node-*.yaml", "node/heartbeat-with-lease/node-*.yaml", "pod/fast/pod-[cd]*.yaml"} {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(output)), "kustomize", "stage", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("kwok has no stages %s (%w)", pattern, err)
		}
		for _, file := range files {
			arguments = append(arguments, "--config="+file)
		}
	}
	return arguments, nil
}
