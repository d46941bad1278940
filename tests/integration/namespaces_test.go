package integration

import (
	"context"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("a namespace without the operator's permissions", Ordered, SpecPriority(1), func() {
	var server *envtest.Environment
	var admin client.Client

	BeforeAll(func() { server, admin = startCluster() })

	It("does not affect other namespaces, and is served once the permissions are granted", SpecTimeout(specTimeout), func(ctx SpecContext) {
		run := newRestrictedProgram(ctx, server, admin, "granted", "a")
		session := run.start()
		echoInA, echoInB := support.Echo("granted-a", "x"), support.Echo("granted-b", "x")
		Expect(admin.Create(ctx, echoInA)).To(Succeed())
		Expect(admin.Create(ctx, echoInB)).To(Succeed())
		expectReconciled(ctx, admin, []string{"granted-a"})
		run.expectLeftOut(ctx, "granted-b")
		Expect(strings.Count(string(session.Err.Contents()), "A namespace is not watched.")).To(Equal(1))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echoInB), echoInB)).To(Succeed())
		Expect(echoInB.Finalizers).To(BeEmpty())

		run.grant(ctx, "granted-b")
		Eventually(session).WithContext(ctx).Should(gexec.Exit(0))
		Expect(leaseHolder(ctx, Default, admin, "granted-own")).To(BeEmpty())
		run.start()
		expectReconciled(ctx, admin, []string{"granted-a", "granted-b"})
		Expect(run.probe(ctx, Default, "/readyz")).To(Equal("ok"))
	})

	It("does not affect others if permissions are revoked, and later releases its Echo", SpecTimeout(specTimeout), func(ctx SpecContext) {
		run := newRestrictedProgram(ctx, server, admin, "revoked", "a", "b")
		session := run.start()
		inNamespaces := []string{"revoked-a", "revoked-b"}
		for _, namespace := range inNamespaces {
			Expect(admin.Create(ctx, support.Echo(namespace, "x"))).To(Succeed())
		}
		expectReconciled(ctx, admin, inNamespaces)
		second := support.Echo("revoked-b", "second")
		Expect(admin.Create(ctx, second)).To(Succeed())
		eventuallyHeld(ctx, admin, second)

		By("revoking the permissions and deleting an Echo")
		run.revoke(ctx, "revoked-b")
		Expect(admin.Delete(ctx, support.Echo("revoked-b", "x"))).To(Succeed())
		failures := regexp.MustCompile(`"msg":"Reconciler error".*"Echo":{"name":"x","namespace":"revoked-b"}`)
		failed := func() int { return len(failures.FindAll(session.Err.Contents(), -1)) }
		Eventually(failed).WithContext(ctx).Should(BeNumerically(">=", 9))
		Expect(admin.Create(ctx, support.Echo("revoked-a", "other"))).To(Succeed())
		Eventually(func() error {
			return admin.Get(ctx, client.ObjectKey{Namespace: "revoked-a", Name: "other"}, &corev1.Service{})
		}).WithContext(ctx).Should(Succeed())
		Consistently(failed, 5*time.Second).WithContext(ctx).Should(BeNumerically("<=", 13), "failing reconciles must back off")

		By("granting the permissions again")
		run.grant(ctx, "revoked-b")
		eventuallyReleased(ctx, admin, support.Echo("revoked-b", "x"))

		By("revoking the permissions again, and restarting the operator")
		run.revoke(ctx, "revoked-b")
		Expect(admin.Delete(ctx, second)).To(Succeed())
		session.Kill().Wait()
		session = run.start()
		run.expectLeftOut(ctx, "revoked-b")
		expectReconciled(ctx, admin, []string{"revoked-a"})
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(second), second)).To(Succeed())
		run.grant(ctx, "revoked-b")
		Eventually(session).WithContext(ctx).Should(gexec.Exit(0))
		run.start()
		eventuallyReleased(ctx, admin, second)
	})

	It("keeps an Echo until a person removes the finalizer, as documented", func(ctx SpecContext) {
		run := newRestrictedProgram(ctx, server, admin, "kept", "a", "b")
		run.start()
		echo := support.Echo("kept-b", "x", func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} })
		Expect(admin.Create(ctx, echo)).To(Succeed())
		other := support.Echo("kept-b", "other")
		Expect(admin.Create(ctx, other)).To(Succeed())
		eventuallyHeld(ctx, admin, echo)
		eventuallyHeld(ctx, admin, other)
		run.revoke(ctx, "kept-b")
		Expect(admin.Delete(ctx, echo)).To(Succeed())

		commands := support.Documented("docs/how-to/install.md", "## When permissions are missing")
		path := "export KUBECONFIG=" + writeKubeconfig(server.KubeConfig) + " PATH=$KUBEBUILDER_ASSETS:$PATH\n"
		support.Run(ctx, path+strings.Replace(commands, "my-namespace", "kept-b", 1))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		Expect(echo.Finalizers).To(ConsistOf("example.org/theirs"))
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(other), other)).To(Succeed())
		Expect(other.Finalizers).To(ConsistOf(v1.Finalizer))
	}, SpecTimeout(specTimeout))
})

// restrictedProgram is an operator that watches the namespaces NAME-a and NAME-b. Tests grant and revoke this operator's permissions.
type restrictedProgram struct {
	name, kubeconfig, probes string
	admin, user              client.Client
}

// newRestrictedProgram creates the namespaces for an operator, and a user with permissions in some of these namespaces.
func newRestrictedProgram(ctx context.Context, server *envtest.Environment, admin client.Client, name string,
	granted ...string) *restrictedProgram {
	GinkgoHelper()
	for _, suffix := range []string{"own", "a", "b"} {
		Expect(admin.Create(ctx, &corev1.Namespace{Name: name + "-" + suffix})).To(Succeed())
	}
	account := addOperator(ctx, server, admin, name, []string{name + "-own"})
	run := &restrictedProgram{name: name, kubeconfig: writeKubeconfig(account.kubeconfig), admin: admin, user: account.client}
	for _, suffix := range granted {
		run.grant(ctx, name+"-"+suffix)
	}
	return run
}

func (r *restrictedProgram) start() *gexec.Session {
	GinkgoHelper()
	r.probes = reserveAddress()
	return startProgram([]string{"KUBECONFIG=" + r.kubeconfig, "WATCH_NAMESPACE=" + r.name + "-a," + r.name + "-b"}, "--leader-elect",
		"--leader-election-namespace="+r.name+"-own", "--health-probe-bind-address="+r.probes, "--metrics-bind-address=0")
}

// grant grants the operator its required permissions in a namespace.
func (r *restrictedProgram) grant(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(controlplane.Grant(ctx, r.admin, "operator-"+r.name, namespace, manifest("rbac/role.yaml", &rbacv1.ClusterRole{}).Rules)).To(
		Succeed())
}

// revoke revokes the operator's permissions in a namespace.
func (r *restrictedProgram) revoke(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(r.admin.DeleteAllOf(ctx, &rbacv1.RoleBinding{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func() bool {
		return apierrors.IsForbidden(r.user.List(ctx, &corev1.PodList{}, client.InNamespace(namespace)))
	}).WithContext(ctx).Should(BeTrue())
}

// probe returns the response body of a health probe.
func (r *restrictedProgram) probe(ctx context.Context, g Gomega, path string) string {
	_, body := responseOf(ctx, g, "http://"+r.probes+path, "")
	return body
}

// expectLeftOut expects that the probes report a namespace as left out, but that the pod stays ready.
func (r *restrictedProgram) expectLeftOut(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(r.probe(ctx, g, "/readyz/caches")).To(Equal("ok"))
		g.Expect(r.probe(ctx, g, "/readyz")).To(And(ContainSubstring("[+]caches ok"), ContainSubstring("[-]namespace-%s failed", namespace)))
		g.Expect(r.probe(ctx, g, "/readyz/namespace-"+namespace)).To(ContainSubstring("in namespace %s: create a RoleBinding", namespace))
	}).WithContext(ctx).Should(Succeed())
}

// eventuallyHeld waits until an Echo has the operator's finalizer, which delays the Echo's deletion.
func eventuallyHeld(ctx context.Context, admin client.Client, echo *v1.Echo) {
	GinkgoHelper()
	support.EventuallyObject(ctx, admin, echo).Should(HaveField("Finalizers", ContainElement(v1.Finalizer)))
}

// eventuallyReleased removes the children of an Echo that is being deleted, as the garbage collector would, and waits until the Echo is
// gone. It removes no optional children except the given ones.
func eventuallyReleased(ctx context.Context, admin client.Client, echo *v1.Echo, optional ...client.Object) {
	GinkgoHelper()
	key := client.ObjectKeyFromObject(echo)
	Eventually(func(g Gomega) {
		for _, child := range append(objects.Kinds(nil), optional...) {
			err := admin.Get(ctx, key, child)
			if err == nil && child.GetDeletionTimestamp() != nil {
				child.SetFinalizers(nil)
				g.Expect(admin.Update(ctx, child)).To(Succeed())
			}
		}
		g.Expect(apierrors.IsNotFound(admin.Get(ctx, key, echo))).To(BeTrue())
	}).WithContext(ctx).Should(Succeed())
}
