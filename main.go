// The Echo Operator turns Echo objects into running HTTP echo servers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/echo-operator/echo-operator/window"
)

// version is set by the linker.
var version = "dev"

func main() {
	options, err := parseOptions(os.Args[1:], os.Getenv, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo-operator: "+err.Error())
		os.Exit(1)
	}
}

// run is the operator, from its first request to its end. It returns nil when ctx ends it.
func run(ctx context.Context, options options) error {
	level := window.NewLogLevel(options.logLevel())
	options.log.Level = level.Enabler()
	log := zap.New(zap.UseFlagOptions(&options.log))
	ctrl.SetLogger(log)
	cluster, err := config.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster is configured: set KUBECONFIG to the path of a kubeconfig file (%w)", err)
	}
	if err := checkCluster(ctx, cluster); err != nil {
		return err
	}
	mgr, err := newManager(cluster, options, level)
	if err != nil {
		return err
	}
	log.Info("starting", "version", version, "namespaces", options.namespaces, "maxReplicas", options.maxReplicas,
		"echoServerImage", options.echoServerImage)
	return mgr.Start(ctx)
}
