// The kubectl plugin for Echoes: it reports what is wrong with them, and sends requests to them.
package main

import (
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/echo-operator/echo-operator/internal/kubectlecho"
)

// version is set by the linker.
var version = "dev"

func main() {
	klog.SetLogger(logr.Discard()) // the plugin prints errors itself, so that library logs would only be noise
	os.Exit(kubectlecho.Run(version, os.Args, os.Stdout, os.Stderr))
}
