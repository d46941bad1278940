// The plugin of kubectl for Echoes: it says what is wrong with them, and sends requests to them.
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
	klog.SetLogger(logr.Discard()) // what the libraries log in addition to the errors that are printed would only be noise
	os.Exit(kubectlecho.Run(version, os.Args, os.Stdout, os.Stderr))
}
