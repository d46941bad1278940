// Package integration tests the operator with a real API server and etcd. No other controllers run, so tests do what these would do.
package integration

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/internal/statusapi"
)

const (
	echoServerImage = "quay.io/echo-operator/echo-server:v0.1.0"
	maxReplicas     = 20
	operatorUser    = "echo-operator-test"
)

var (
	scheme *runtime.Scheme
	// cluster is the configuration of the administrator of the API server.
	cluster *rest.Config
	// suiteKubeconfig is its kubeconfig, for programs.
	suiteKubeconfig []byte
	// k8s reads from the API server, never from a cache.
	k8s client.Client
	// program is the path of the operator's program.
	program string
	// underTest is the operator.
	underTest *operator.Operator
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(20 * time.Second)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "Integration")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(zap.New(zap.WriteTo(GinkgoWriter), zap.UseDevMode(true)))
	scheme = runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1.AddToScheme(scheme)).To(Succeed())

	server := startAPIServer(filepath.Join("..", "..", "config", "crd", "bases"))
	cluster, suiteKubeconfig = server.Config, adminKubeconfig(server)
	var err error
	k8s, err = client.New(cluster, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	grantOperatorsRole()
	program = buildProgram()
	startOperator()
})

// startAPIServer starts an API server that enforces the permissions for owner references, as OpenShift does. It is stopped after the suite
// or the test.
func startAPIServer(crds ...string) *envtest.Environment {
	GinkgoHelper()
	env := &envtest.Environment{CRDDirectoryPaths: crds, ErrorIfCRDPathMissing: true,
		ControlPlaneStartTimeout: 2 * time.Minute} // a second attempt would leave the files of the first one behind
	env.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement")
	_, err := env.Start()
	DeferCleanup(env.Stop) // even if it was started only partly
	Expect(err).NotTo(HaveOccurred(), "run the suite with 'make test', which builds the API server")
	return env
}

// grantOperatorsRole grants the operator under test the permissions of its roles, and no others.
func grantOperatorsRole() {
	for _, role := range []string{"rbac/role.yaml", "rbac/node_reader_role.yaml"} {
		Expect(grant(context.Background(), k8s, operatorUser, "", manifest(role, &rbacv1.ClusterRole{}).Rules)).To(Succeed())
	}
}

// manifest reads an object from a file under config.
func manifest[T client.Object](path string, object T) T {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", path))
	Expect(err).NotTo(HaveOccurred())
	Expect(yaml.UnmarshalStrict(text, object)).To(Succeed())
	return object
}

// grant grants a user permissions in a namespace, or in all namespaces if it is empty.
func grant(ctx context.Context, c client.Client, user, namespace string, rules []rbacv1.PolicyRule) error {
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

// startOperator runs the operator, as a user with the permissions of the operator.
func startOperator() {
	user := rest.CopyConfig(cluster)
	user.Impersonate.UserName = operatorUser
	var err error
	underTest, err = operator.New(user, operator.Options{
		MetricsAddress: "0",
		ProbeAddress:   "0",
		Images:         children.Images{EchoServer: echoServerImage},
		Policy:         children.Policy{MaxReplicas: maxReplicas},
	}, statusapi.NewLogLevel(zapcore.InfoLevel))
	Expect(err).NotTo(HaveOccurred())
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- underTest.Start(ctx) }()
	DeferCleanup(func() {
		stop()
		Eventually(stopped).Should(Receive(BeNil()))
	})
}

// newNamespace creates a namespace for a test. It is not deleted, because no controller could complete the deletion.
func newNamespace(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	Expect(k8s.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}
