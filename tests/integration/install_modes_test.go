package integration

import (
	"context"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("install modes", Ordered, func() {
	var server *envtest.Environment
	var admin client.Client

	BeforeAll(func() { server, admin = startCluster() })

	DescribeTable("the operator watches its namespaces, with permissions only in them",
		func(ctx SpecContext, name string, watched []string, inside, outside []string) {
			for _, namespace := range []string{name + "-own", name + "-a", name + "-b", name + "-c"} {
				Expect(admin.Create(ctx, &corev1.Namespace{Name: namespace})).To(Succeed())
			}
			user, address := addOperator(ctx, server, admin, name, watched), reserveAddress()
			// The operator ends if the API server does not answer within seconds. A new API server on a busy machine may take longer.
			Eventually(func() error {
				return user.client.List(ctx, &v1.EchoList{}, client.InNamespace(inside[0]))
			}).WithContext(ctx).Should(Succeed())
			startProgram([]string{"KUBECONFIG=" + writeKubeconfig(user.kubeconfig), "WATCH_NAMESPACE=" + strings.Join(watched, ",")},
				"--leader-elect", "--leader-election-namespace="+name+"-own", "--health-probe-bind-address=0", "--metrics-bind-address="+address)

			var untouched []*v1.Echo
			for _, namespace := range outside {
				echo := support.Echo(namespace, "x")
				Expect(admin.Create(ctx, echo)).To(Succeed())
				untouched = append(untouched, echo)
			}
			for _, namespace := range inside {
				Expect(admin.Create(ctx, support.Echo(namespace, "x"))).To(Succeed())
			}
			expectReconciled(ctx, admin, inside)
			for _, echo := range untouched {
				expectIgnored(ctx, admin, user.client, echo)
			}
			Expect(apierrors.IsForbidden(user.client.List(ctx, &corev1.SecretList{}, client.InNamespace(inside[0])))).To(BeTrue(),
				"the operator must not read Secrets")
			By("asking about the permission of a client that may not read the metrics")
			Eventually(func(g Gomega) {
				g.Expect(statusOf(ctx, g, "https://"+address+"/metrics", tokenOf(ctx, g, admin, "default", "guest"))).To(Equal(http.StatusForbidden))
			}).WithContext(ctx).Should(Succeed())
		},
		Entry("for its own namespace", SpecTimeout(specTimeout), "own", []string{"own-own"}, []string{"own-own"}, []string{"own-a", "own-b"}),
		Entry("for a single other namespace", SpecTimeout(specTimeout), "single", []string{"single-a"}, []string{"single-a"},
			[]string{"single-own", "single-b"}),
		Entry("for several namespaces", SpecTimeout(specTimeout), "multi", []string{"multi-a", "multi-b"}, []string{"multi-a", "multi-b"},
			[]string{"multi-own", "multi-c"}),
		Entry("for all namespaces", SpecTimeout(specTimeout), "all", nil, []string{"all-own", "all-a", "all-b", "all-c"}, nil),
	)
})

// operatorAccount is the operator's user.
type operatorAccount struct {
	kubeconfig []byte
	client     client.Client
}

// addOperator creates the operator's user with the permissions that OLM would grant.
func addOperator(ctx context.Context, server *envtest.Environment, admin client.Client, name string, watched []string) operatorAccount {
	GinkgoHelper()
	user, err := server.AddUser(envtest.User{Name: "operator-" + name}, nil)
	Expect(err).NotTo(HaveOccurred())
	rules := manifest("rbac/role.yaml", &rbacv1.ClusterRole{}).Rules
	if len(watched) == 0 {
		watched = []string{metav1.NamespaceAll}
	}
	for _, namespace := range watched {
		Expect(controlplane.Grant(ctx, admin, "operator-"+name, namespace, rules)).To(Succeed())
	}
	nodes := manifest("rbac/node_reader_role.yaml", &rbacv1.ClusterRole{}).Rules
	Expect(controlplane.Grant(ctx, admin, "operator-"+name, "", nodes)).To(Succeed())
	lease := manifest("rbac/leader_election_role.yaml", &rbacv1.Role{}).Rules
	Expect(controlplane.Grant(ctx, admin, "operator-"+name, name+"-own", lease)).To(Succeed())

	account := operatorAccount{client: newClient(user.Config())}
	account.kubeconfig, err = user.KubeConfig()
	Expect(err).NotTo(HaveOccurred())
	return account
}

// expectReconciled expects that the Echo in each namespace becomes Ready after its Deployment is rolled out.
func expectReconciled(ctx context.Context, admin client.Client, namespaces []string) {
	GinkgoHelper()
	for _, namespace := range namespaces {
		key := client.ObjectKey{Namespace: namespace, Name: "x"}
		Eventually(func(g Gomega) {
			deployment, echo := &appsv1.Deployment{}, &v1.Echo{}
			g.Expect(admin.Get(ctx, key, deployment)).To(Succeed())
			g.Expect(support.RollOut(ctx, admin, deployment)).To(Succeed())
			g.Expect(admin.Get(ctx, key, echo)).To(Succeed())
			g.Expect(echo.Status.Phase).To(Equal(v1.PhaseReady))
		}).WithContext(ctx).Should(Succeed())
	}
}

// expectIgnored expects that the operator does not change an Echo, and has no permission to do so.
func expectIgnored(ctx context.Context, admin, operator client.Client, echo *v1.Echo) {
	GinkgoHelper()
	Consistently(func(g Gomega) {
		now := &v1.Echo{}
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), now)).To(Succeed())
		g.Expect(now.ResourceVersion).To(Equal(echo.ResourceVersion))
		g.Expect(apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(echo), &appsv1.Deployment{}))).To(BeTrue())
	}).WithContext(ctx).Should(Succeed())
	service := &corev1.Service{Namespace: echo.Namespace, Name: "y",
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	finalizing := echo.DeepCopy()
	finalizing.Finalizers = slices.Concat(finalizing.Finalizers, []string{v1.Finalizer})
	for what, err := range map[string]error{
		"reading an Echo":       operator.Get(ctx, client.ObjectKeyFromObject(echo), &v1.Echo{}),
		"creating a Service":    operator.Create(ctx, service),
		"writing a finalizer":   operator.Patch(ctx, finalizing, client.MergeFrom(echo)),
		"deleting a Deployment": operator.Delete(ctx, &appsv1.Deployment{Namespace: echo.Namespace, Name: "x"}),
	} {
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s in %s: %v", what, echo.Namespace, err)
	}
}
