package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startNode starts the processes of the node: containerd, kubelet, kube-proxy, CoreDNS and the HTTPS registry.
func (c *realCluster) startNode(ctx context.Context, tools map[string]string, prefix []string) error {
	for name, path := range map[string]string{
		"containerd.toml": "containerd.toml", "hosts.toml": "registries/_default/hosts.toml", "cni.conflist": "cni/10-bridge.conflist",
		"kubelet.yaml": "kubelet.yaml", "kube-proxy.yaml": "kube-proxy.yaml", "Corefile": "Corefile", "services.yaml": "services.yaml",
		"registry-tls.yaml": "registry-tls.yaml",
	} {
		if err := c.write(name, path); err != nil {
			return err
		}
	}
	// The resolver configuration contains no name servers, because the node has no Internet access.
	if err := writeFile(filepath.Join(c.Data, "resolv.conf"), nil); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(c.Data, "hosts"), []byte(c.NodeAddress+" "+strings.Join(registryNames(), " ")+"\n")); err != nil {
		return err
	}
	for _, p := range c.nodeProcesses(tools) {
		if err := c.launch(ctx, p, prefix...); err != nil {
			return err
		}
	}
	return run(ctx, filepath.Join(tools["apiserver"], "kubectl"), "--kubeconfig="+c.kubeconfig(), "apply", "-f",
		filepath.Join(c.Data, "services.yaml"))
}

func (c *realCluster) nodeProcesses(tools map[string]string) []process {
	file := func(name string) string { return filepath.Join(c.Data, name) }
	socket := filepath.Join(c.Run, "containerd.sock")
	kubernetes := func(name string) string { return filepath.Join(tools["kubernetes"], name) }
	return []process{
		{name: "containerd", path: "containerd", args: []string{"--config=" + file("containerd.toml")},
			ready: func(ctx context.Context) error { return run(ctx, "ctr", "--address="+socket, "version") }},
		{name: "kubelet", path: kubernetes("kubelet"), args: []string{
			"--config=" + file("kubelet.yaml"), "--kubeconfig=" + file("kubelet.kubeconfig"), "--hostname-override=" + c.Node,
			"--node-ip=" + c.NodeAddress, "--root-dir=" + file("kubelet"), "--cert-dir=" + file("kubelet-pki"),
		}, ready: c.nodeReady},
		{name: "kube-proxy", path: kubernetes("kube-proxy"), args: []string{"--config=" + file("kube-proxy.yaml")},
			ready: c.checkHTTPInside("http://127.0.0.1:10256/healthz")},
		{name: "coredns", path: filepath.Join(tools["coredns"], "coredns"), args: []string{"-conf=" + file("Corefile")},
			ready: c.checkHTTPInside("http://127.0.0.1:8181/ready")},
		{name: "registry-tls", path: filepath.Join(tools["registry"], "registry"), args: []string{"serve", file("registry-tls.yaml")},
			env: []string{"OTEL_TRACES_EXPORTER=none"}, ready: c.checkTCP("443")},
	}
}

func (s *settings) nodeReady(ctx context.Context) error {
	client, err := newClientset(s.kubeconfig())
	if err != nil {
		return err
	}
	node, err := client.CoreV1().Nodes().Get(ctx, s.Node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			if condition.Status == corev1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("the node is not ready: %s", condition.Message)
		}
	}
	return errors.New("the node does not have the condition Ready yet")
}

// checkHTTPInside returns a function that fails unless a URL responds with 200. The function connects from the cluster's network namespace,
// so that the URL can be on the loopback interface.
func (c *realCluster) checkHTTPInside(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		command := c.inside(self, "check-http", url)
		return run(ctx, command[0], command[1:]...)
	}
}

// checkTCP returns a function that fails unless a TCP connection to a port of the node succeeds.
func (c *realCluster) checkTCP(port string) func(context.Context) error {
	return func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(c.NodeAddress, port))
		if err == nil {
			err = connection.Close()
		}
		return err
	}
}

// checkHTTP returns an error unless a URL responds with 200.
func checkHTTP(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return err
}
