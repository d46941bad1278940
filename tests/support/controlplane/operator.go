package controlplane

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/operator"
)

// These are values that the operator uses in the suites.
const (
	EchoServerImage = "quay.io/echo-operator/echo-server:v0.1.0"
	PathCheckImage  = "quay.io/echo-operator/echo-operator-pathcheck:v0.1.0"
	MaxReplicas     = 20
	// OperatorUser is the user that has the operator's permissions.
	OperatorUser = "echo-operator-test"
)

// GrantOperatorsRole grants the operator exactly the permissions in its roles. config is the directory with the manifests.
func GrantOperatorsRole(ctx context.Context, c client.Client, config string) error {
	for _, file := range []string{"role.yaml", "node_reader_role.yaml", "gateway_reader_role.yaml"} {
		role, err := Manifest(filepath.Join(config, "rbac", file), &rbacv1.ClusterRole{})
		if err != nil {
			return err
		}
		if err := Grant(ctx, c, OperatorUser, "", role.Rules); err != nil {
			return fmt.Errorf("granting %s: %w", file, err)
		}
	}
	return nil
}

// NewOperator assembles the operator with the given Pod Security level for the pods that it creates. The operator watches the given
// namespaces, or all namespaces if none are given, and sends requests as OperatorUser.
func NewOperator(cluster *rest.Config, podSecurity string, namespaces ...string) (*operator.Operator, error) {
	standard, err := objects.NewPodSecurity(podSecurity)
	if err != nil {
		return nil, err
	}
	return NewOperatorWith(cluster, func(o *operator.Options) { o.Policy.PodSecurity, o.Namespaces = standard, namespaces })
}

// NewOperatorWith assembles the operator with the given options.
func NewOperatorWith(cluster *rest.Config, change func(*operator.Options)) (*operator.Operator, error) {
	options := operator.Options{
		MetricsAddress: "0",
		Metrics:        prometheus.NewRegistry(),
		ProbeAddress:   "0",
		Images:         objects.Images{EchoServer: EchoServerImage, PathCheck: PathCheckImage},
		Policy:         objects.Policy{MaxReplicas: MaxReplicas},
	}
	change(&options)
	user := rest.CopyConfig(cluster)
	user.Impersonate.UserName = OperatorUser
	return operator.New(context.Background(), user, options)
}
