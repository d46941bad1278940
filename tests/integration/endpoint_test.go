package integration

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

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

// statusOf sends a GET request with a bearer token, and returns the status code. It omits the Authorization header if the token is empty.
func statusOf(ctx context.Context, g Gomega, url, token string) int {
	status, _ := responseOf(ctx, g, http.MethodGet, url, token)
	return status
}

// responseOf sends a request with a bearer token, and returns the status code and the body of the response. It omits the Authorization
// header if the token is empty, and does not verify certificates.
func responseOf(ctx context.Context, g Gomega, method, url, token string) (int, string) {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
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
