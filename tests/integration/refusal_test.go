package integration

import (
	"context"
	"net/http"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/operator"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

var _ = Describe("an admission policy", func() {
	It("that rejects a child is reported until the policy is gone, without an edit", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		allow := refuseServices(ctx, namespace)
		echo := support.Echo(namespace, "refused")
		Expect(k8s.Create(ctx, echo)).To(Succeed())
		Eventually(func(g Gomega) {
			now := echoNow(ctx, g, namespace, echo.Name)
			g.Expect(now).To(haveCondition(v1.ConditionDegraded, metav1.ConditionTrue, v1.ReasonForbidden))
			g.Expect(now.Status.Phase).To(Equal(v1.PhaseWarning))
		}).WithContext(ctx).Should(Succeed())
		allow(ctx)
		Eventually(func(g Gomega) { deploymentNow(ctx, g, namespace, echo.Name) }).WithContext(ctx).Should(Succeed())
		rollOut(ctx, namespace, echo.Name)
		expectPhase(ctx, echo, v1.PhaseReady)
	})
})

var _ = Describe("a status that another client writes", func() {
	It("is corrected", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "told"))
		wrong := echo.DeepCopy()
		wrong.Status = v1.EchoStatus{Phase: v1.PhaseFailed, ReadyReplicas: 7}
		Expect(k8s.Status().Update(ctx, wrong)).To(Succeed())
		support.EventuallyObject(ctx, k8s, echo).Should(HaveField("Status", And(HaveField("Phase", v1.PhaseReady),
			HaveField("ReadyReplicas", echo.Status.ReadyReplicas), HaveField("URL", echo.Status.URL))))
	})
})

// refuseServices makes the API server reject new Services in a namespace. The returned function permits them again.
func refuseServices(ctx context.Context, namespace string) func(context.Context) {
	GinkgoHelper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		Name: namespace,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					APIGroups:  []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "no"}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		Name: namespace,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}},
	}
	Expect(k8s.Create(ctx, policy)).To(Succeed())
	Expect(k8s.Create(ctx, binding)).To(Succeed())
	allow := func(ctx context.Context) {
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(k8s.Delete(ctx, policy))).To(Succeed())
	}
	DeferCleanup(allow)
	probe := &corev1.Service{Namespace: namespace, Name: "probe",
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}
	Eventually(func(g Gomega) { // the API server takes a moment to enforce a policy
		g.Expect(k8s.Create(ctx, probe.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring("denied request")))
	}).WithContext(ctx).Should(Succeed())
	return allow
}

var _ = Describe("an API server that checks owner references and has not discovered the kind Echo", func() {
	It("accepts the children of an Echo immediately", func(ctx SpecContext) {
		server := startAPIServer()
		admin := newClient(server.Config)
		Expect(controlplane.GrantOperatorsRole(ctx, admin, configFolder)).To(Succeed())
		config := rest.CopyConfig(server.Config)
		config.Impersonate.UserName = controlplane.OperatorUser
		owned := &corev1.Service{Namespace: "default", Name: "owned", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "example.com/v1", Kind: "Echo", Name: "x", UID: "u", BlockOwnerDeletion: new(true)}},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		Expect(newClient(config).Create(ctx, owned)).To(MatchError(ContainSubstring("cannot find RESTMapping")),
			"from now on, the API server caches the list of kinds for 30 s")

		installDefinitions(server.Config, []string{filepath.Join(configFolder, "crd", "bases", "example.com_echoes.yaml")})
		sent := &requestLog{}
		DeferCleanup(startReplica(&rest.Config{Host: sent.proxy(server.Config)}, func(*operator.Options) {}).stop)
		echo := support.Echo("default", "first")
		Expect(admin.Create(ctx, echo)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), &corev1.Service{})).To(Succeed())
			g.Expect(admin.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
			g.Expect(echo).To(haveCondition(v1.ConditionDegraded, metav1.ConditionFalse, nil))
		}).WithContext(ctx).Should(Succeed())
		Expect(sent.data()).NotTo(ContainElement(And(HaveField("Method", Not(Equal(http.MethodGet))), HaveField("Status", BeNumerically(">=", 400)))))
		for _, event := range support.EventsOf(ctx, Default, admin, echo) {
			Expect(event.Type).To(Equal(corev1.EventTypeNormal), event.Note)
		}
	}, SpecTimeout(specTimeout))
})
