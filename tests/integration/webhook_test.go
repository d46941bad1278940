package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("a webhook", func() {
	It("that adds a container is tolerated", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		mutateDeployments(ctx, namespace, func(pods *corev1.PodSpec) {
			if len(pods.Containers) == 1 {
				pods.Containers = append([]corev1.Container{{Name: "mesh", Image: "mesh:1"}}, pods.Containers...)
			}
		})
		echo := createReadyEcho(ctx, support.Echo(namespace, "meshed"))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Env = []corev1.EnvVar{{Name: "A", Value: "b"}} })
		rollOut(ctx, namespace, echo.Name)
		containers := deploymentNow(ctx, Default, namespace, echo.Name).Spec.Template.Spec.Containers
		Expect(containers).To(HaveLen(2))
		Expect(containers).To(ContainElement(HaveField("Name", "mesh")))
		Expect(containers).To(ContainElement(HaveField("Env", ContainElement(corev1.EnvVar{Name: "A", Value: "b"}))))
		expectNoWrite(ctx, echo)
	})

	It("that changes the operator's fields does not cause repeated writes", func(ctx SpecContext) {
		namespace := newNamespace(ctx)
		calls := mutateDeployments(ctx, namespace, func(pods *corev1.PodSpec) {
			pods.Containers[0].Image = "mirror.example.com/echo-server:v0.1.0"
		})
		echo := createReadyEcho(ctx, support.Echo(namespace, "mirrored"))
		settled := func() string { return deploymentNow(ctx, Default, namespace, echo.Name).ResourceVersion }
		before, last, since := settled(), calls.Load(), time.Now()
		Eventually(func() time.Duration {
			if now := calls.Load(); now != last {
				last, since = now, time.Now()
			}
			return time.Since(since)
		}).WithContext(ctx).Should(BeNumerically(">", 3*time.Second), "the time without a write")
		Expect(last).To(BeNumerically("<", 10), "the writes until then")
		Expect(settled()).To(Equal(before))
		edit(ctx, echo, func(e *v1.Echo) { e.Spec.Replicas = new(int32(3)) })
		rollOut(ctx, namespace, echo.Name)
		Expect(deploymentNow(ctx, Default, namespace, echo.Name).Spec.Template.Spec.Containers[0].Image).To(HavePrefix("mirror.example.com/"))
	})

	DescribeTable("that rejects only the creation of an object is reported in the status", func(ctx SpecContext, kind string, code int32) {
		namespace := newNamespace(ctx)
		refuseCreation(ctx, namespace, kind, code)
		echo := support.Echo(namespace, "denied", everyServedField)
		Expect(k8s.Create(ctx, echo)).To(Succeed())
		support.EventuallyObject(ctx, k8s, echo).Should(And(HaveField("Status.Phase", v1.PhaseWarning),
			haveCondition(v1.ConditionDegraded, metav1.ConditionTrue, v1.ReasonForbidden), haveDenied(kind)))
		Expect(meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionReady)).To(BeFalse())
	},
		Entry("a Deployment", "Deployment", int32(http.StatusUnprocessableEntity)),
		Entry("a PodDisruptionBudget", "PodDisruptionBudget", int32(http.StatusNotFound)),
		Entry("an Ingress, as a conflict", "Ingress", int32(http.StatusConflict)),
	)
})

// haveDenied matches an Echo whose message says that a webhook denies an object, why, and what to do.
func haveDenied(kind string) types.GomegaMatcher {
	return HaveField("Status.Message", And(
		HavePrefix("An admission webhook or policy denies the "+kind+` denied: "admission webhook 'webhook.example.org' denied the request: a ticket is required". `),
		ContainSubstring("Change the Echo as the policy requires, or ask the policy's administrator for an exception.")))
}

// mutateDeployments registers a webhook that changes the Deployments in a namespace, and returns a counter of the webhook's calls.
func mutateDeployments(ctx context.Context, namespace string, change func(*corev1.PodSpec)) *atomic.Int64 {
	GinkgoHelper()
	return startWebhook(ctx, namespace, "deployments", func(_ context.Context, request admission.Request) admission.Response {
		deployment := &appsv1.Deployment{}
		if err := json.Unmarshal(request.Object.Raw, deployment); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		change(&deployment.Spec.Template.Spec)
		changed, err := json.Marshal(deployment)
		if err != nil {
			return admission.Errored(http.StatusInternalServerError, err)
		}
		return admission.PatchResponseFromRaw(request.Object.Raw, changed)
	})
}

// refuseCreation registers a webhook that rejects the creation of objects of a kind in a namespace, with an HTTP status code.
func refuseCreation(ctx context.Context, namespace, kind string, code int32) {
	GinkgoHelper()
	startWebhook(ctx, namespace, "*", func(_ context.Context, request admission.Request) admission.Response {
		response := admission.Allowed("")
		if request.Operation == admissionv1.Create && request.Kind.Kind == kind && request.Name != "trial" {
			response = admission.Denied("a ticket is required")
			response.Result.Code = code
		}
		return response
	})
}

// startWebhook registers a webhook for a resource in a namespace, and returns a counter of the webhook's calls.
func startWebhook(ctx context.Context, namespace, resource string, handle admission.HandlerFunc) *atomic.Int64 {
	GinkgoHelper()
	calls := &atomic.Int64{}
	server := httptest.NewTLSServer(&admission.Webhook{Handler: admission.HandlerFunc(
		func(ctx context.Context, request admission.Request) admission.Response {
			calls.Add(1)
			return handle(ctx, request)
		})})
	DeferCleanup(server.Close)
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{
		Name: namespace,
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "webhook.example.org",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      &server.URL,
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				APIGroups:  []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
	Expect(k8s.Create(ctx, hook)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, hook)).To(Succeed()) })
	Eventually(func(g Gomega) { // the API server takes a moment to call a new webhook
		trial := &appsv1.Deployment{Namespace: namespace, Name: "trial", Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
		g.Expect(k8s.Create(ctx, trial, client.DryRunAll)).To(Succeed())
		g.Expect(calls.Load()).NotTo(BeZero())
	}).WithContext(ctx).Should(Succeed())
	return calls
}
