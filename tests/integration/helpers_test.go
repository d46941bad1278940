package integration

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

// get reads an object from the API server.
func get[T client.Object](ctx context.Context, g Gomega, namespace, name string, object T) T {
	g.Expect(k8s.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)).To(Succeed())
	return object
}

func named[T client.Object](object T, other client.Object) T {
	object.SetNamespace(other.GetNamespace())
	object.SetName(other.GetName())
	return object
}

func echoNow(ctx context.Context, g Gomega, namespace, name string) *v1.Echo {
	return get(ctx, g, namespace, name, &v1.Echo{})
}

func deploymentNow(ctx context.Context, g Gomega, namespace, name string) *appsv1.Deployment {
	return get(ctx, g, namespace, name, &appsv1.Deployment{})
}

func serviceNow(ctx context.Context, g Gomega, namespace, name string) *corev1.Service {
	return get(ctx, g, namespace, name, &corev1.Service{})
}

// createEcho creates an Echo, and waits until its children exist and its status is up to date.
func createEcho(ctx context.Context, echo *v1.Echo) *v1.Echo {
	GinkgoHelper()
	Expect(k8s.Create(ctx, echo)).To(Succeed())
	Eventually(func(g Gomega) {
		deploymentNow(ctx, g, echo.Namespace, echo.Name)
		serviceNow(ctx, g, echo.Namespace, echo.Name)
		g.Expect(echoNow(ctx, g, echo.Namespace, echo.Name)).To(haveCondition(v1.ConditionProgressing, metav1.ConditionTrue, v1.ReasonRollingOut))
	}).WithContext(ctx).Should(Succeed())
	return echoNow(ctx, Default, echo.Namespace, echo.Name)
}

// everyServedField sets almost every field that does not need a second IP family, Gateway API, or another object.
func everyServedField(e *v1.Echo) {
	support.EveryField(e)
	e.UID = ""
	e.Spec.Gateway, e.Spec.TLS = nil, nil
	e.Spec.Service.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	e.Spec.PriorityClassName, e.Spec.ServiceAccountName = "", ""
}

// createReadyEcho creates an Echo and completes its rollout.
func createReadyEcho(ctx context.Context, echo *v1.Echo) *v1.Echo {
	GinkgoHelper()
	createEcho(ctx, echo)
	rollOut(ctx, echo.Namespace, echo.Name)
	return echoNow(ctx, Default, echo.Namespace, echo.Name)
}

// rollOut completes a rollout, as the Deployment controller does, and waits until the Echo is Ready.
func rollOut(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(support.RollOut(ctx, k8s, deploymentNow(ctx, g, namespace, name))).To(Succeed())
		echo := echoNow(ctx, g, namespace, name)
		g.Expect(echo).To(haveCondition(v1.ConditionReady, metav1.ConditionTrue, nil))
		g.Expect(echo.Status.ObservedGeneration).To(Equal(echo.Generation))
	}).WithContext(ctx).Should(Succeed())
}

// edit changes an object as another field manager would.
func edit[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		change(object)
		g.Expect(k8s.Update(ctx, object, client.FieldOwner("another-client"))).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
}

// patchStatus changes an object's status as the responsible Kubernetes component does.
func patchStatus[T client.Object](ctx context.Context, object T, change func(T)) {
	GinkgoHelper()
	Expect(k8s.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(T)
	change(object)
	Expect(k8s.Status().Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}

// haveCondition matches an Echo that has the given condition for its current generation. A nil reason matches all reasons.
func haveCondition(kind string, status metav1.ConditionStatus, reason v1.Reason) types.GomegaMatcher {
	desired := "for any reason"
	if reason != nil {
		desired = reason.String()
	}
	return gcustom.MakeMatcher(func(echo *v1.Echo) (bool, error) {
		c := meta.FindStatusCondition(echo.Status.Conditions, kind)
		return c != nil && c.Status == status && (reason == nil || c.Reason == reason.String()) && c.ObservedGeneration == echo.Generation, nil
	}).WithTemplate("Expected\n{{.FormattedActual}}\n{{.To}} have condition {{.Data}}", kind+"="+string(status)+" "+desired)
}

// expectEvents waits until an object's events have exactly these reasons, in order.
func expectEvents(ctx context.Context, object client.Object, reasons ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) []string { return eventReasons(ctx, g, object) }).WithContext(ctx).Should(Equal(reasons))
}

// eventReasons returns the reasons of an object's events, in order. The reason of an event series appears once for each of its events.
func eventReasons(ctx context.Context, g Gomega, object client.Object) []string {
	var reasons []string
	for _, e := range support.EventsOf(ctx, g, k8s, object) {
		reasons = append(reasons, e.Reason)
		if e.Series != nil {
			reasons = append(reasons, slices.Repeat([]string{e.Reason}, int(e.Series.Count)-1)...)
		}
	}
	return reasons
}

// allowMetrics grants the service account "scraper" in the default namespace the permission to read metrics.
func allowMetrics(ctx context.Context, c client.Client) {
	GinkgoHelper()
	rules := manifest("rbac/metrics_reader_role.yaml", &rbacv1.ClusterRole{}).Rules
	Expect(controlplane.Grant(ctx, c, "system:serviceaccount:default:scraper", "", rules)).To(Succeed())
}

// tokenOf returns a token for a service account, and creates this account if necessary.
func tokenOf(ctx context.Context, g Gomega, c client.Client, namespace, name string) string {
	account := &corev1.ServiceAccount{Namespace: namespace, Name: name}
	g.Expect(client.IgnoreAlreadyExists(c.Create(ctx, account))).To(Succeed())
	request := &authenticationv1.TokenRequest{}
	g.Expect(c.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// statusOf is like responseOf, but returns only the status code.
func statusOf(ctx context.Context, g Gomega, url, token string) int {
	status, _ := responseOf(ctx, g, url, token)
	return status
}

// responseOf sends a GET request with a bearer token, and returns the status code and the body of the response. It omits the Authorization
// header if the token is empty, and does not verify certificates.
func responseOf(ctx context.Context, g Gomega, url, token string) (int, string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // self-signed
		DisableKeepAlives: true, DisableCompression: true}} // compression would use almost 1 MiB and affect the memory test
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(text)
}
