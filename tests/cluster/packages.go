package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/echo-operator/echo-operator/tests/cluster/machine"
)

func (s *settings) installPackages(ctx context.Context) error {
	packages := machine.MissingPackages()
	if len(packages) == 0 {
		return nil
	}
	done := step("installing " + strings.Join(packages, " "))
	for _, arguments := range [][]string{{"update", "-qq"}, append([]string{"install", "-qq", "-y", "--no-install-recommends"}, packages...)} {
		aptGet := exec.CommandContext(ctx, filepath.Join(s.Root, "tools/make/retry"), append([]string{"apt-get"}, arguments...)...)
		aptGet.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		aptGet.Stderr = os.Stderr
		if err := aptGet.Run(); err != nil {
			return fmt.Errorf("apt-get %s: %w", arguments[0], err)
		}
	}
	if left := machine.MissingPackages(); len(left) > 0 {
		return fmt.Errorf("packages are missing after the installation: %s", strings.Join(left, " "))
	}
	done()
	return nil
}
