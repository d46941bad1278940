package mustgather

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/echo-operator/echo-operator/internal/kubectlecho"
)

const (
	podToken    = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	metricsPort = 8443
)

// readEndpoints reads the operator's metrics. A port-forward is required, because the API server's proxy would not forward the token.
func (g *gatherer) readEndpoints(ctx context.Context) {
	operators := slices.DeleteFunc(ofOperator(g.found[pods]), func(pod object) bool { // anyone can create a pod with the operator's labels
		return g.operatorNamespace != "" && pod.GetNamespace() != g.operatorNamespace
	})
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
// should have. A pod's token, which expires with the pod, is returned only if the user says in which namespace the operator runs.
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
	case g.config.BearerTokenFile == podToken && g.operatorNamespace != "":
		return g.config.BearerToken, nil
	}
	return "", errors.New("the token is not sent to the operator: name a service account with --metrics-account=NAMESPACE/NAME, or in a pod, " +
		"the operator's namespace with --operator-namespace")
}

func (g *gatherer) readEndpoint(ctx context.Context, pod object, token string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	address, err := kubectlecho.Forward(ctx, g.config, g.client.CoreV1().RESTClient(), pod.GetNamespace(), pod.GetName(), metricsPort)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	unverified := &tls.Config{InsecureSkipVerify: true} //nolint:gosec // the API server forwards the connection to the pod
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: unverified}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	text, err := io.ReadAll(response.Body)
	if err == nil {
		g.write(filepath.Join(podFolder(pod), "metrics.txt"), g.redactor.text(string(text)))
	}
	return err
}

const (
	// operatorLines and echoLines limit how many lines are read from the end of a log.
	operatorLines, echoLines int64 = 20_000, 200
	mostLogBytes             int64 = 16 << 20
	// mostLogs is the maximum number of Echo pods from which logs are read.
	mostLogs = 100
)

// readLogs reads the logs of the operator and of its echo servers. Logs of other images are not read, because their content is unknown.
func (g *gatherer) readLogs(ctx context.Context) {
	for _, pod := range ofOperator(g.found[pods]) {
		g.readLog(ctx, pod, operatorLines)
	}
	servers := g.echoServers()
	read := min(len(servers), mostLogs)
	for _, pod := range servers[:read] {
		g.readLog(ctx, pod, echoLines)
	}
	g.say("  of %d of %d pods with the operator's echo server", read, len(servers))
}

// echoServers returns the pods that run the operator's echo server, starting with the pods that have problems.
func (g *gatherer) echoServers() []object {
	ownImage := map[string]bool{}
	for _, echo := range g.found[echoes] {
		ownImage[echo.GetNamespace()+"/"+echo.GetName()] = textOf(echo, "spec", "image") == ""
	}
	servers := slices.DeleteFunc(slices.Clone(g.found[pods]), func(pod object) bool {
		return !ownImage[pod.GetNamespace()+"/"+pod.GetLabels()["app.kubernetes.io/instance"]]
	})
	problems := func(pod object) (count int32) {
		status := statusOf(pod)
		for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
			count += c.RestartCount
		}
		isReady := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }
		if !slices.ContainsFunc(status.Conditions, isReady) {
			count++
		}
		return count
	}
	slices.SortStableFunc(servers, func(a, b object) int { return cmp.Compare(problems(b), problems(a)) })
	return servers
}

func statusOf(pod object) (status corev1.PodStatus) {
	fields, _, _ := unstructured.NestedMap(pod.Object, "status")
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &status) // an unreadable field is as if it were missing
	return status
}

func (g *gatherer) readLog(ctx context.Context, pod object, lines int64) {
	for _, c := range statusOf(pod).ContainerStatuses {
		if !slices.Contains([]string{"manager", "echo", "check"}, c.Name) { // such as the log of a service mesh's proxy
			continue
		}
		if c.State.Running != nil || c.State.Terminated != nil {
			g.readContainerLog(ctx, pod, c.Name, lines, "current")
		}
		if c.RestartCount > 0 {
			g.readContainerLog(ctx, pod, c.Name, lines, "previous")
		}
	}
}

func (g *gatherer) readContainerLog(ctx context.Context, pod object, container string, lines int64, which string) {
	text, err := g.client.CoreV1().Pods(pod.GetNamespace()).GetLogs(pod.GetName(), &corev1.PodLogOptions{
		Container: container, Previous: which == "previous", TailLines: new(lines), LimitBytes: new(mostLogBytes), Timestamps: true,
	}).DoRaw(ctx)
	switch {
	case err == nil:
		g.write(filepath.Join(podFolder(pod), container, container, "logs", which+".log"), g.redactor.text(string(text)))
	case !apierrors.IsNotFound(err): // if it is not found, the pod no longer exists
		g.miss("the "+which+" log of "+where(pods, pod.GetNamespace(), pod.GetName()), err)
	}
}

// podFolder returns the directory that contains a pod's logs. The logs in it have the same paths as in the output of `oc adm inspect`.
func podFolder(pod object) string {
	return filepath.Join("namespaces", pod.GetNamespace(), "pods", pod.GetName())
}
