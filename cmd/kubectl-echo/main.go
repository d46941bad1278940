// kubectl-echo is the kubectl plugin for Echoes. It reports what is wrong with Echoes, and sends requests to them.
package main

import (
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/echo-operator/echo-operator/internal/kubectlecho"
	"github.com/echo-operator/echo-operator/internal/process"
)

// version is set by the linker.
var version = "dev"

func main() {
	klog.SetLogger(logr.Discard()) // the plugin prints errors itself, so logs from libraries would only be noise
	os.Exit(kubectlecho.Run(process.Interruptible(), version, os.Args, os.Stdout, os.Stderr))
}
