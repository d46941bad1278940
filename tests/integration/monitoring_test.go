package integration

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("where the Prometheus Operator is installed", Ordered, func() {
	const name, own, deploymentName = "monitored", "monitored-own", "echo-operator-controller-manager"
	var server *envtest.Environment
	var admin client.Client
	monitored := func(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: new(true)} }
	monitorOf := func(ctx SpecContext, g Gomega, echo *v1.Echo) *unstructured.Unstructured {
		monitor := objects.NewPodMonitor()
		g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), monitor)).To(Succeed())
		return monitor
	}

	BeforeAll(func(ctx SpecContext) {
		server, admin = startCluster(support.MonitoringCRDs(ctx)...)
		Expect(admin.Create(ctx, &corev1.Namespace{Name: own})).To(Succeed())
		operator := addOperator(ctx, server, admin, name, []string{own})
		Expect(controlplane.Grant(ctx, admin, "operator-"+name, own, manifest("rbac/monitoring_role.yaml", &rbacv1.Role{}).Rules)).To(Succeed())
		given := map[string]string{"app.kubernetes.io/name": "echo-operator", "control-plane": "controller-manager"}
		deployment := &appsv1.Deployment{Namespace: own, Name: deploymentName, Labels: given,
			Spec: appsv1.DeploymentSpec{
				Selector: &metav1.LabelSelector{MatchLabels: given},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: given},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "example.com/manager"}}}}}}
		Expect(admin.Create(ctx, deployment)).To(Succeed())
		startProgram([]string{"KUBECONFIG=" + writeKubeconfig(operator.kubeconfig), "WATCH_NAMESPACE=" + own},
			"--leader-elect", "--leader-election-namespace="+own, "--health-probe-bind-address=0", "--metrics-bind-address=0")
	})

	It("the operator is monitored through objects that its Deployment owns", SpecTimeout(specTimeout), func(ctx SpecContext) {
		deployment := &appsv1.Deployment{}
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: own, Name: deploymentName}, deployment)).To(Succeed())
		for _, kind := range []string{"ServiceMonitor", "PrometheusRule"} {
			object := &unstructured.Unstructured{}
			object.SetGroupVersionKind(objects.MonitoringGroupVersion().WithKind(kind))
			Eventually(admin.Get).WithContext(ctx).WithArguments(client.ObjectKey{Namespace: own, Name: "echo-operator"}, object).Should(Succeed())
			Expect(object.GetOwnerReferences()).To(ConsistOf(HaveField("UID", deployment.UID)), kind)
		}
	})

	It("an Echo is monitored if it requests monitoring", SpecTimeout(specTimeout), func(ctx SpecContext) {
		echo := support.Echo(own, "asking", monitored)
		Expect(admin.Create(ctx, echo)).To(Succeed())
		Expect(admin.Create(ctx, support.Echo(own, "silent"))).To(Succeed())
		exists := func(g Gomega) { g.Expect(metav1.IsControlledBy(monitorOf(ctx, g, echo), echo)).To(BeTrue()) }
		Eventually(exists).WithContext(ctx).Should(Succeed())
		Expect(admin.Delete(ctx, monitorOf(ctx, Default, echo))).To(Succeed())
		Eventually(exists).WithContext(ctx).Should(Succeed())

		By("deleting the PodMonitor when it is no longer desired")
		Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		Expect(admin.Patch(ctx, echo, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"monitoring":null}}`)))).To(Succeed())
		eventuallyGone(ctx, admin, named(objects.NewPodMonitor(), echo))
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: own, Name: "silent"}, objects.NewPodMonitor())).To(Satisfy(apierrors.IsNotFound))
	})

	It("the operator works without permissions for PodMonitors", SpecTimeout(specTimeout), func(ctx SpecContext) {
		const own = "poor-own"
		Expect(admin.Create(ctx, &corev1.Namespace{Name: own})).To(Succeed())
		user, err := server.AddUser(envtest.User{Name: "poor"}, nil)
		Expect(err).NotTo(HaveOccurred())
		rules := slices.DeleteFunc(manifest("rbac/role.yaml", &rbacv1.ClusterRole{}).Rules, func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(rule.APIGroups, objects.MonitoringGroupVersion().Group)
		})
		Expect(controlplane.Grant(ctx, admin, "poor", own, rules)).To(Succeed())
		Expect(controlplane.Grant(ctx, admin, "poor", "", manifest("rbac/node_reader_role.yaml", &rbacv1.ClusterRole{}).Rules)).To(Succeed())
		kubeconfig, err := user.KubeConfig()
		Expect(err).NotTo(HaveOccurred())
		startProgram([]string{"KUBECONFIG=" + writeKubeconfig(kubeconfig), "WATCH_NAMESPACE=" + own}, "--health-probe-bind-address=0",
			"--metrics-bind-address=0")
		Expect(admin.Create(ctx, support.Echo(own, "x", monitored))).To(Succeed())
		expectReconciled(ctx, admin, []string{own})
		Expect(admin.Get(ctx, client.ObjectKey{Namespace: own, Name: "x"}, objects.NewPodMonitor())).To(Satisfy(apierrors.IsNotFound))
	})
})
