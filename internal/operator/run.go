package operator

import (
	"context"
	"errors"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/memory"
)

// Run runs the operator until ctx is done, and then returns nil. Complete must have been called on the options.
func Run(ctx context.Context, options Options) error {
	memory.SetLimit(os.DirFS("/sys/fs/cgroup"))
	go memory.ReturnAtRest(ctx)
	log := zap.New(zap.UseFlagOptions(&options.Log))
	ctrl.SetLogger(log)
	cluster, err := FindCluster(ctx, options.Version, v1.GroupVersion)
	if err != nil {
		return err
	}
	if options.missing, err = checkNamespaces(ctx, cluster, options.Namespaces); err != nil {
		return err
	}
	for namespace := range options.missing {
		log.Info("A namespace is not watched.", "namespace", namespace, "cause", options.missing.in(namespace))
	}
	operator, err := New(ctx, cluster, options)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	log.Info("starting", "version", options.Version, "namespaces", options.Namespaces, "maxReplicas", options.Policy.MaxReplicas,
		"podSecurity", options.Policy.PodSecurity.String(), "echoServerImage", options.Images.EchoServer)
	return operator.Start(ctx)
}
