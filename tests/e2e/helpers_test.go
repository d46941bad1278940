package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// version returns the version of the source tree. With the prefix "v", it is also the tag of the images built from the tree.
func version() string { return strings.TrimSpace(support.Read("VERSION")) }

// createReady creates an Echo and waits until it is ready.
func createReady(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, echo)).To(Succeed())
	waitReady(ctx, echo)
}

// waitReady waits, as a user would, until an Echo is ready and its status reflects the latest generation.
func waitReady(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(echo), echo)).To(Succeed())
		g.Expect(echo.Status.ObservedGeneration).To(Equal(echo.Generation))
		g.Expect(echo.Status.Phase).To(Equal(v1.PhaseReady))
	}).WithContext(ctx).Should(Succeed())
}

// edit changes the spec of an Echo.
func edit(ctx context.Context, echo *v1.Echo, change func(*v1.EchoSpec)) {
	GinkgoHelper()
	before := echo.DeepCopy()
	change(&echo.Spec)
	Expect(k8s.Patch(ctx, echo, client.MergeFrom(before))).To(Succeed())
}

// pods returns an Echo's pods that are not being deleted.
func pods(ctx context.Context, g Gomega, echo *v1.Echo) []corev1.Pod {
	list := &corev1.PodList{}
	g.Expect(k8s.List(ctx, list, client.InNamespace(echo.Namespace), client.MatchingLabels{"app.kubernetes.io/name": "echo",
		"app.kubernetes.io/instance": echo.Name, "app.kubernetes.io/managed-by": "echo-operator"})).To(Succeed())
	var found []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp.IsZero() {
			found = append(found, pod)
		}
	}
	return found
}

// expectGone expects, without waiting, that an Echo and all of its objects no longer exist.
func expectGone(ctx context.Context, echo *v1.Echo) {
	GinkgoHelper()
	for _, object := range []client.Object{&v1.Echo{}, &appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}} {
		Expect(apierrors.IsNotFound(k8s.Get(ctx, client.ObjectKeyFromObject(echo), object))).To(BeTrue(), "%T is there", object)
	}
	list := &corev1.PodList{}
	Expect(k8s.List(ctx, list, client.InNamespace(echo.Namespace),
		client.MatchingLabels{"app.kubernetes.io/instance": echo.Name, "app.kubernetes.io/managed-by": "echo-operator"})).To(Succeed())
	Expect(list.Items).To(BeEmpty())
}

// probe sends requests to an Echo and returns the results.
func probe(ctx context.Context, echo *v1.Echo, arguments ...string) realcluster.Seen {
	GinkgoHelper()
	return realcluster.StartProber(ctx, echo.Namespace, echo.Status.URL+"/e2e", arguments...).Finish(ctx)
}

// throughPortForward starts a port-forward, and passes its local address to a function. Each call needs a new port-forward, because
// kubectl stops a port-forward when a connection is reset.
func throughPortForward(ctx context.Context, g Gomega, namespace, target, port string, call func(address string)) {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "kubectl", "port-forward", "-n", namespace, target, ":"+port)
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { session.Terminate().Wait() }()
	call(forwardedAddress(ctx, g, session))
}

// forwardedAddress waits until kubectl port-forward prints the local address. It fails immediately if kubectl exits first.
func forwardedAddress(ctx context.Context, g Gomega, session *gexec.Session) string {
	GinkgoHelper()
	g.Eventually(session.Out).WithContext(ctx).Should(gbytes.Say(`Forwarding from 127\.0\.0\.1:\d+`))
	return regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(string(session.Out.Contents()))
}

// fetch requests a page from a server that has a self-signed certificate.
func fetch(ctx context.Context, g Gomega, url, token string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Authorization", "Bearer "+token)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true}} //nolint:gosec // self-signed
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.StatusCode).To(Equal(http.StatusOK), string(body))
	return string(body)
}
