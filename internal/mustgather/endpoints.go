package mustgather

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/echo-operator/echo-operator/internal/kubectlecho"
)

const (
	// podToken is the path of a pod's token.
	podToken = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	// metricsPort is the operator's metrics port.
	metricsPort = 8443
)

// readEndpoints reads the operator's metrics. A port-forward is required, because the API server's proxy would not forward the token.
func (g *gatherer) readEndpoints(ctx context.Context) {
	operators := ofOperator(g.found[pods])
	if len(operators) == 0 {
		return
	}
	token, err := g.token(ctx)
	if err != nil {
		g.miss("the metrics of the operator", err)
		return
	}
	for _, pod := range operators {
		if err := g.readEndpoint(ctx, pod, token); err != nil {
			g.miss("the metrics of "+where(pods, pod.GetNamespace(), pod.GetName()), err)
		}
	}
}

// token returns the token to send to the operator. A person's token is never returned, because it may grant more rights than the operator
// should have. A pod's token may be returned, because it expires with the pod.
func (g *gatherer) token(ctx context.Context) (string, error) {
	namespace, name, given := strings.Cut(g.metricsAccount, "/")
	switch {
	case given:
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(600))}}
		request, err := g.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		return request.Status.Token, nil
	case g.config.BearerTokenFile == podToken:
		return g.config.BearerToken, nil
	}
	return "", errors.New("a person's token is not sent to the operator: name a service account with --metrics-account=NAMESPACE/NAME")
}

func (g *gatherer) readEndpoint(ctx context.Context, pod object, token string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	address, err := kubectlecho.Forward(ctx, g.config, g.client.CoreV1().RESTClient(), pod.GetNamespace(), pod.GetName(), metricsPort)
	if err != nil {
		return err
	}
	text, err := fetch(ctx, "https://"+address+"/metrics", token)
	if err == nil {
		g.write(filepath.Join(podFolder(pod), "metrics.txt"), g.redactor.text(string(text)))
	}
	return err
}

// fetch reads a URL of the operator. The certificate is not verified, because the API server forwards the connection to the pod.
func fetch(ctx context.Context, url, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	unverified := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: unverified}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, errors.New(response.Status)
	}
	return io.ReadAll(response.Body)
}
