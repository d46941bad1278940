// The Echo Operator turns Echo objects into running HTTP echo servers.
package main

import (
	"context"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/window"
)

// version is set by the linker.
var version = "dev"

func main() {
	os.Exit(program{os.Getenv, os.Stdout, os.Stderr}.execute(os.Args[1:]))
}

// run is the operator, from its first request to its end. It returns nil when ctx ends it.
func run(ctx context.Context, options options) error {
	level := window.NewLogLevel(options.logLevel())
	options.log.Level = level.Enabler()
	log := zap.New(zap.UseFlagOptions(&options.log))
	ctrl.SetLogger(log)
	cluster, err := findCluster(ctx, v1.GroupVersion)
	if err != nil {
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
