package controlplane

import (
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/echo-operator/echo-operator/tests/support"
)

// StartForTest starts an API server for a test, and grants the operator its permissions. The config argument is the directory that contains
// the manifests. The returned client has an administrator's permissions, and no cache.
func StartForTest(t *testing.T, config string, configure func(*envtest.APIServer)) (*envtest.Environment, client.Client) {
	t.Helper()
	g := NewWithT(t)
	ctrl.SetLogger(logr.Discard())
	env, err := StartWith(configure, filepath.Join(config, "crd", "bases"))
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	g.Expect(err).NotTo(HaveOccurred())
	scheme, err := support.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	admin, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(GrantOperatorsRole(t.Context(), admin, config)).To(Succeed())
	return env, admin
}
