package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/echo-operator/echo-operator/tests/cluster/machine"
)

func installPackages(ctx context.Context) error {
	packages := machine.MissingPackages()
	if len(packages) == 0 {
		return nil
	}
	done := step("installing " + strings.Join(packages, " "))
	if err := run(ctx, "apt-get", "update", "-q"); err != nil {
		return err
	}
	install := append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends"}, packages...)
	if err := run(ctx, "env", install...); err != nil {
		return err
	}
	if left := machine.MissingPackages(); len(left) > 0 {
		return fmt.Errorf("packages are missing after the installation: %s", strings.Join(left, " "))
	}
	done()
	return nil
}
