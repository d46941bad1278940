// echo-scorecard runs one of the scorecard tests of the Echo Operator: of its bundle, or of the operator that runs in the cluster.
// Scorecard runs it in a pod with the bundle in /bundle, and parses its output as the result.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/echo-operator/echo-operator/internal/scorecard"
)

func main() {
	// The log of a pod includes stderr, but scorecard expects only the result.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := scorecard.Run(ctx, strings.Join(os.Args[1:], " "), "/bundle", os.Getenv("SCORECARD_NAMESPACE"))
	stop()
	if err := json.NewEncoder(os.Stdout).Encode(status); err != nil {
		fmt.Fprintln(os.Stderr, "echo-scorecard: "+err.Error())
		os.Exit(1)
	}
}
