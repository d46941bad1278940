package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// The order of these specs matters. Two replicas are running while APIs that an Echo requires are installed and deleted.
var _ = Describe("APIs that are installed and deleted", Ordered, SpecPriority(1), func() {
	const namespace = "discovered"
	var server *envtest.Environment
	var admin client.Client
	var replicas [2]*replica
	gatewayAPI := &discoveredAPI{}
	ends := func() (counts [2]int) {
		for i, r := range replicas {
			counts[i] = r.ends()
		}
		return counts
	}
	// expectEnds expects that each replica has exited the given number of times, and that no replica exits again.
	expectEnds := func(ctx context.Context, count int) {
		GinkgoHelper()
		Eventually(ends).WithContext(ctx).Should(Equal([2]int{count, count}))
		Consistently(ends).WithContext(ctx).WithTimeout(10 * shortPeriod).Should(Equal([2]int{count, count}))
	}
	routed := func(g Gomega, ctx context.Context) {
		route := &metav1.PartialObjectMetadata{}
		route.SetGroupVersionKind(objects.GatewayGroupVersion().WithKind("HTTPRoute"))
		g.Expect(admin.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "x"}, route)).To(Succeed())
	}

	BeforeAll(func(ctx SpecContext) {
		server, admin = startCluster()
		Expect(admin.Create(ctx, &corev1.Namespace{Name: namespace})).To(Succeed())
		Expect(controlplane.GrantOperatorsRole(ctx, admin, configFolder)).To(Succeed())
		Expect(controlplane.Grant(ctx, admin, controlplane.OperatorUser, namespace,
			manifest("rbac/leader_election_role.yaml", &rbacv1.Role{}).Rules)).To(Succeed())
		for i := range replicas {
			replicas[i] = startReplica(gatewayAPI.config(server.Config), func(o *operator.Options) { o.LeaderElect, o.LeaderElectionNamespace = true, namespace })
			DeferCleanup(replicas[i].stop)
		}
	})

	It("have no effect while no Echo requires them", func(ctx SpecContext) {
		installDefinitions(server.Config, support.MonitoringCRDs(ctx))
		expectEnds(ctx, 0)
	}, SpecTimeout(specTimeout))

	It("make each replica restart once when they are installed", func(ctx SpecContext) {
		Expect(admin.Create(ctx, support.Echo(namespace, "x", func(e *v1.Echo) {
			e.Spec.Gateway = &v1.EchoGateway{Enabled: new(true), ParentRefs: []v1.EchoGatewayReference{{Name: "public"}}}
		}))).To(Succeed())
		expectEnds(ctx, 0)
		gatewayAPI.changeAtOnce(func() { installDefinitions(server.Config, support.GatewayCRDs(ctx)) })
		expectEnds(ctx, 1)
		Eventually(routed).WithContext(ctx).WithArguments(ctx).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("make no replica restart while discovery of the APIs fails", func(ctx SpecContext) {
		gatewayAPI.hidden.Store(true)
		uninstallDefinitions(ctx, server.Config, admin, support.GatewayCRDs(ctx))
		Consistently(ends).WithContext(ctx).WithTimeout(15 * shortPeriod).Should(Equal([2]int{1, 1}))
		gatewayAPI.hidden.Store(false)
		expectEnds(ctx, 2)
	}, SpecTimeout(specTimeout))

	It("make each replica restart once when they are installed again", func(ctx SpecContext) {
		gatewayAPI.changeAtOnce(func() { installDefinitions(server.Config, support.GatewayCRDs(ctx)) })
		expectEnds(ctx, 3)
		Eventually(routed).WithContext(ctx).WithArguments(ctx).Should(Succeed())
	}, SpecTimeout(specTimeout))

	It("make each replica restart once when a permission is revoked, and when it is granted again", func(ctx SpecContext) {
		roles := &rbacv1.ClusterRoleList{}
		Expect(admin.List(ctx, roles)).To(Succeed())
		reader := manifest("rbac/gateway_reader_role.yaml", &rbacv1.ClusterRole{}).Rules
		for _, role := range roles.Items {
			if equality.Semantic.DeepEqual(role.Rules, reader) {
				Expect(admin.Delete(ctx, &role)).To(Succeed())
			}
		}
		expectEnds(ctx, 4)
		Expect(controlplane.Grant(ctx, admin, controlplane.OperatorUser, "", reader)).To(Succeed())
		expectEnds(ctx, 5)
	}, SpecTimeout(specTimeout))
})
