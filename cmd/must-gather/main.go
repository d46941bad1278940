// gather collects data for diagnosing problems with the Echo Operator and its Echoes. In the image for `oc adm must-gather --image`, the
// program is installed as /usr/bin/gather. It can also run outside the cluster, using kubectl's kubeconfig.
package main

import (
	"errors"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/echo-operator/echo-operator/internal/mustgather"
	"github.com/echo-operator/echo-operator/internal/process"
)

// version is set by the linker.
var version = "dev"

func main() {
	klog.SetLogger(logr.Discard()) // gather reports errors itself
	err := mustgather.Run(process.Interruptible(), version, os.Args[1:], os.Getenv, os.Stdout)
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		process.ReportError(os.Stderr, "gather", err)
		os.Exit(1)
	}
}
