package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("an object that must be replaced", func() {
	const theirs = "example.org/theirs"
	DescribeTable("and that another controller keeps is reported in the status until it is replaced",
		func(ctx SpecContext, kind string, object client.Object, before, after func(*v1.EchoSpec)) {
			echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "held", func(e *v1.Echo) { before(&e.Spec) }))
			object = named(object, echo)
			edit(ctx, object, func(o client.Object) { o.SetFinalizers([]string{theirs}) })
			edit(ctx, echo, func(e *v1.Echo) { after(&e.Spec) })
			support.EventuallyObject(ctx, k8s, echo).Should(And(
				haveCondition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonRollingOut), HaveField("Status.Phase", v1.PhaseUpdating),
				HaveField("Status.Message", ContainSubstring("The "+kind+" held is being deleted, but still has the finalizer "+theirs))))

			By("replacing the object when the finalizer is gone")
			edit(ctx, object, func(o client.Object) { o.SetFinalizers(nil) })
			rollOut(ctx, echo.Namespace, echo.Name)
		},
		Entry("a Service", "Service", &corev1.Service{},
			func(s *v1.EchoSpec) {
				s.Service.Type, s.Service.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, "example.org/a"
			},
			func(s *v1.EchoSpec) { s.Service.LoadBalancerClass = "example.org/b" }),
		Entry("an Ingress", "Ingress", &networkingv1.Ingress{},
			func(s *v1.EchoSpec) {
				s.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "held.example.com", ClassName: "nginx"}
			},
			func(s *v1.EchoSpec) { s.Ingress.ClassName = "" }),
		Entry("an Ingress that is no longer requested", "Ingress", &networkingv1.Ingress{},
			func(s *v1.EchoSpec) { s.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "former.example.com"} },
			func(s *v1.EchoSpec) { s.Ingress.Enabled = new(false) }),
	)
})
