package kubectlecho

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream" // the WebSocket dialer returns errors from this package

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/pathcheck"
)

// shownLines and shownRunes limit how much of a body is printed.
const shownLines, shownRunes = 12, 120

func newTest(flags *genericclioptions.ConfigFlags, version string) *cobra.Command {
	number, path, secure := 0, "", false
	command := &cobra.Command{
		Use:   "test NAME",
		Short: "Send requests to an Echo, and report which pods respond",
		Long: `Send requests in turn to the ready pods that an Echo's Service selects, and report which pod responds, with status and
latency. This is the pod that the response names, or else the pod to which the request was sent. A request fails if it gets no response,
or a status of 400 or more other than spec.response.statusCode. The beginning of the first response is also printed.
The exit code is 0 if all requests succeed, 1 if a request fails, and 2 for errors.

Each request uses its own port-forward through the API server and the kubelet, and bypasses kube-proxy and NetworkPolicies. If these
requests succeed but requests from clients in the cluster fail, the cause is in the network between the clients and the pods.`,
		Example: `  # Send 10 requests to the Echo web
  kubectl echo test web

  # Send 100 requests for a path over HTTPS
  kubectl echo test web --requests=100 --path=/health --tls`,
		ValidArgsFunction: completeEcho(flags),
		RunE: func(c *cobra.Command, names []string) error {
			if len(names) != 1 || number < 1 || !strings.HasPrefix(path, "/") {
				return usage(c, errors.New("one name is required, --requests must be at least 1, and --path must begin with /"))
			}
			cluster, err := connect(flags, false)
			if err != nil {
				return err
			}
			cluster.command, cluster.userAgent = c.Root().CommandPath(), "kubectl-echo/"+version
			return cluster.test(c.Context(), names[0], number, map[bool]string{false: "http", true: "https"}[secure], path, c.OutOrStdout())
		},
	}
	command.Flags().IntVar(&number, "requests", 10, "The number of requests to send to the ready pods in turn")
	command.Flags().StringVar(&path, "path", "/", "The path of the requests")
	command.Flags().BoolVar(&secure, "tls", false, "Send the requests over HTTPS. The certificate is not verified")
	return command
}

// test sends requests to an Echo's pods. It prints one line for each request, and the first response.
func (c *cluster) test(ctx context.Context, name string, number int, scheme, path string, stdout io.Writer) error {
	echo, service, pods := &v1.Echo{}, &corev1.Service{}, &corev1.PodList{}
	err := read(ctx, c.from("apis/example.com/v1", "echoes").Name(name), echo)
	if err := cmp.Or(err, read(ctx, c.from("api/v1", "services").Name(name), service)); err != nil {
		return err
	}
	if err := read(ctx, c.from("api/v1", "pods").Param("labelSelector", labels.Set(service.Spec.Selector).String()), pods); err != nil {
		return err
	}
	ready := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { // the Service sends requests only to the others
		return !pod.DeletionTimestamp.IsZero() || !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	})
	if !metav1.IsControlledBy(service, echo) || len(ready) == 0 {
		return fmt.Errorf("the Service %[1]q has no ready pods, or does not belong to the Echo: '%[2]s status %[1]s' shows why", name, c.command)
	}
	failed, responded, first := 0, map[string]bool{}, ""
	for i := range number {
		r, err := c.send(ctx, echo, &ready[i%len(ready)], scheme, path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		first = cmp.Or(first, r.text)
		if err != nil {
			failed, r.status = failed+1, oneLine(err.Error())
		} else {
			responded[r.pod] = true
		}
		_, _ = fmt.Fprintf(stdout, "%s  %s  %v\n", r.pod, r.status, r.latency.Round(time.Millisecond))
	}
	_, _ = io.WriteString(stdout, first)
	_, err = fmt.Fprintf(stdout, "\n%d requests, %d failed; %d of %d ready pods responded\n", number, failed, len(responded), len(ready))
	return cmp.Or(err, yes(failed == 0))
}

// result is the outcome of a request. It names the pod that sent the response or, if unknown, the pod that got the request.
type result struct {
	pod, status, text string
	latency           time.Duration
}

func (c *cluster) send(ctx context.Context, echo *v1.Echo, pod *corev1.Pod, scheme, path string) (result, error) {
	r := result{pod: pod.Name}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // an Echo may take 30 s to respond
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+echo.Name+"."+echo.Namespace+".svc"+path, http.NoBody)
	port, noPort := portOf(pod, scheme)
	if err := cmp.Or(err, noPort); err != nil {
		return r, err
	}
	if request.URL.Host, err = Forward(ctx, c.config, c, pod.Namespace, pod.Name, port); err != nil {
		return r, err
	}
	request.Header = http.Header{"Accept": {"application/json"}, "User-Agent": {c.userAgent}}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{ServerName: request.Host, InsecureSkipVerify: true}}
	began := time.Now()
	response, err := transport.RoundTrip(request)
	if err != nil {
		r.latency = time.Since(began)
		return r, fmt.Errorf("no response: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	r.latency, r.status = time.Since(began), oneLine(response.Status)
	r.text = fmt.Sprintf("\n%s %s\n%s", response.Proto, r.status, shorten(body))
	named := struct{ Pod string }{pod.Name}
	_ = json.Unmarshal(body, &named) // an image other than the echo server may respond with other content
	r.pod = oneLine(named.Pod)
	if desired := echo.Spec.Response; response.StatusCode >= 400 && (desired == nil || int(desired.StatusCode) != response.StatusCode) {
		err = cmp.Or(err, errors.New(r.status))
	}
	return r, err
}

// shorten returns the first lines of a body. JSON is indented, and characters that a terminal would interpret are removed.
func shorten(body []byte) string {
	indented := &bytes.Buffer{}
	if json.Indent(indented, body, "", " ") == nil {
		body = indented.Bytes()
	}
	var text strings.Builder
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	for _, line := range lines[:min(len(lines), shownLines)] {
		line = printable(line)
		if shown := []rune(line); len(shown) > shownRunes {
			line = string(shown[:shownRunes]) + "..."
		}
		text.WriteString(line + "\n")
	}
	if len(lines) > shownLines {
		text.WriteString("...\n")
	}
	return text.String()
}

// Forward serves a pod's port at a local address, as kubectl port-forward does, until ctx is done. Without WebSocket, it uses SPDY.
func Forward(ctx context.Context, config *rest.Config, api rest.Interface, namespace, pod string, port int32) (string, error) {
	url := api.Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	webSocket, noWebSocket := portforward.NewSPDYOverWebsocketDialer(url, config)
	transport, upgrader, noSPDY := spdy.RoundTripperFor(config)
	if err := cmp.Or(noWebSocket, noSPDY); err != nil {
		return "", err
	}
	dialer := portforward.NewFallbackDialer(webSocket, spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url),
		func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) })
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf(":%d", port)}, ready,
		io.Discard, io.Discard)
	if err != nil {
		return "", err
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case err := <-ended:
		return "", err
	case <-ctx.Done():
		return "", ctx.Err()
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), nil
}

// portOf returns the number of the pod's port that has the given name. The Service sends requests to this port.
func portOf(pod *corev1.Pod, name string) (int32, error) {
	for _, container := range pod.Spec.Containers {
		if i := slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == name }); i >= 0 {
			return container.Ports[i].ContainerPort, nil
		}
	}
	return 0, fmt.Errorf("the pod has no port %q", name)
}

// newPath returns the command that examines a path. The command sends no requests to the API server.
func newPath(version string) *cobra.Command {
	checked := pathcheck.Command{}
	command := &cobra.Command{
		Use:   "path URL",
		Short: "Examine what the path to an Echo does to requests",
		Long: `Send requests to a URL that leads to an Echo, and report what an ingress, a gateway, or a proxy in the path does to headers, paths,
bodies, addresses, TLS, and streams. The command sends at most six requests unless a response proves that an Echo responds.
It requires no cluster permissions.
The exit code is 0 if all expectations are met, 1 if an expectation is not met or no Echo responds, 2 for errors, and 3 if no
expectation is unmet, but at least one is unknown.`,
		Example: `  # Report what the path does
  kubectl echo path https://shop.example.com/

  # Fail unless bodies of 10 MiB arrive, and clients cannot spoof their address
  kubectl echo path https://shop.example.com/ --expect 'body.max>=10Mi' --expect 'client.spoofable[X-Forwarded-For]=not found'

  # Examine a path that requires a token, with the header Authorization: Bearer ... in a file
  kubectl echo path https://shop.example.com/ --header-file=headers`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, urls []string) error {
			if len(urls) != 1 {
				return usage(c, errors.New("one URL is required"))
			}
			report, err := checked.Run(c.Context(), urls[0], version, c.OutOrStdout())
			if err != nil {
				return usage(c, err)
			}
			return exit(report.ExitCode())
		},
	}
	checked.Flags(command.Flags())
	completeFlag(command, "output", cobra.FixedCompletions(pathcheck.FormatNames(), cobra.ShellCompDirectiveNoFileComp))
	completeFlag(command, "groups", func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		all, _ := pathcheck.GroupNames()
		given := typed[:strings.LastIndex(typed, ",")+1] // only the last group in the list is completed
		for i := range all {
			all[i] = given + all[i]
		}
		return withPrefix(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	return command
}
