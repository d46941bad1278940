// Package controlplane starts an API server for the test suites, and assembles the operator with the shipped configuration.
package controlplane

import (
	"context"
	"fmt"
	"os"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// Start starts an API server that, as on OpenShift, enforces permissions for setting owner references. The caller must stop the returned
// environment, even if the start failed.
func Start(crds ...string) (*envtest.Environment, error) {
	return StartWith(func(*envtest.APIServer) {}, crds...)
}

// StartWith is like Start, but can configure additional arguments for the API server.
func StartWith(configure func(*envtest.APIServer), crds ...string) (*envtest.Environment, error) {
	env := &envtest.Environment{CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: 2 * time.Minute, // prevents a retry, which would leave files behind
		ControlPlaneStopTimeout:  2 * time.Minute}
	env.CRDInstallOptions.MaxTime = time.Minute // while other programs keep this machine busy
	env.ControlPlane.GetAPIServer().Configure().
		Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		Set("service-cluster-ip-range", "10.0.0.0/16") // large enough for thousands of Services
	configure(env.ControlPlane.GetAPIServer())
	env.ControlPlane.Etcd = &envtest.Etcd{}
	env.ControlPlane.Etcd.Configure().Set("quota-backend-bytes", "8589934592") // large enough for the history of these Services and their pods
	if _, err := env.Start(); err != nil {
		return env, fmt.Errorf("starting the API server that 'make test' builds: %w", err)
	}
	return env, nil
}

// Manifest reads an object from a file.
func Manifest[T client.Object](path string, object T) (T, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return object, err
	}
	return object, yaml.UnmarshalStrict(text, object)
}

// Grant grants a user permissions in a namespace, or in all namespaces if the namespace is empty.
func Grant(ctx context.Context, c client.Client, user, namespace string, rules []rbacv1.PolicyRule) error {
	name := metav1.ObjectMeta{GenerateName: "granted-", Namespace: namespace}
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}
	if namespace == "" {
		role := &rbacv1.ClusterRole{ObjectMeta: name, Rules: rules}
		if err := c.Create(ctx, role); err != nil {
			return err
		}
		return c.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: name, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}})
	}
	role := &rbacv1.Role{ObjectMeta: name, Rules: rules}
	if err := c.Create(ctx, role); err != nil {
		return err
	}
	return c.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: name, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}})
}
