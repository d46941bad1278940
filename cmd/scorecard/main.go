// echo-scorecard runs one of the Echo Operator's scorecard tests, which check the operator that runs in the cluster. The scorecard runs
// this program in a pod with the bundle in /bundle, and parses the program's output as the result.
package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/echo-operator/echo-operator/internal/process"
	"github.com/echo-operator/echo-operator/internal/scorecard"
)

// version is set by the linker.
var version = "dev"

const usage = "echo-scorecard TEST   # examples, permissions, or restricted; the bundle is in /bundle"

func main() {
	flags := pflag.NewFlagSet("echo-scorecard", pflag.ContinueOnError)
	if err := process.ParseFlags(flags, usage, version, os.Args[1:], os.Stdout); errors.Is(err, pflag.ErrHelp) {
		return
	} else if err != nil {
		process.ReportError(os.Stderr, flags.Name(), err)
		os.Exit(2)
	}
	// A pod's log includes stderr, but the scorecard expects only the result.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	status := scorecard.Run(process.Interruptible(), strings.Join(flags.Args(), " "), "/bundle", os.Getenv("SCORECARD_NAMESPACE"))
	if err := json.NewEncoder(os.Stdout).Encode(status); err != nil {
		process.ReportError(os.Stderr, flags.Name(), err)
		os.Exit(1)
	}
}
