package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// realCluster is a single-node Kubernetes with real containers, in a network of its own.
type realCluster struct{ settings }

// up starts the cluster, unless it runs. What an earlier one left is cleared first.
func (c *realCluster) up(ctx context.Context) error {
	if err := installPackages(ctx); err != nil {
		return err
	}
	if c.intact(ctx) {
		fmt.Fprintln(os.Stderr, "cluster: is running")
		return nil
	}
	tools, err := c.tools(ctx, "kubernetes", "coredns", "registry")
	if err != nil {
		return err
	}
	if err := c.down(ctx); err != nil {
		return err
	}
	if err := c.createNetwork(ctx); err != nil {
		return err
	}
	join, err := c.createGroups()
	if err != nil {
		return err
	}
	prefix := slices.Concat(join, c.enter())
	if err := c.startRegistry(ctx, tools["registry"], prefix); err != nil {
		return err
	}
	if err := c.writeIdentities(); err != nil {
		return err
	}
	for _, p := range c.controlPlane(tools["kubernetes"], usualPorts()) {
		if err := c.launch(ctx, p, prefix...); err != nil {
			return err
		}
	}
	if err := c.startNode(ctx, tools, prefix); err != nil {
		return err
	}
	return writeFile(c.startedFile(), nil)
}

// tools builds tool sets and returns where their programs are.
func (s *settings) tools(ctx context.Context, sets ...string) (map[string]string, error) {
	command := exec.CommandContext(ctx, filepath.Join(s.Root, "tools", "build"), sets...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("building the tool sets %v: %w", sets, err)
	}
	folders := map[string]string{}
	for i, folder := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		folders[sets[i]] = folder
	}
	return folders, nil
}

// startRegistry starts the image registry.
func (c *realCluster) startRegistry(ctx context.Context, bin string, prefix []string) error {
	if err := c.write("registry.yaml", "registry.yaml"); err != nil {
		return err
	}
	address := net.JoinHostPort(c.NodeAddress, strconv.Itoa(c.RegistryPort))
	registry := process{
		name: "registry", path: filepath.Join(bin, "registry"), args: []string{"serve", filepath.Join(c.Data, "registry.yaml")},
		env:   []string{"OTEL_TRACES_EXPORTER=none"},
		ready: func(ctx context.Context) error { return answers(ctx, "http://"+address+"/v2/") },
	}
	if err := c.launch(ctx, registry, prefix...); err != nil {
		return err
	}
	return c.pushPause(ctx)
}

// pushPause puts the one image into the registry that every pod begins with.
func (c *realCluster) pushPause(ctx context.Context) error {
	done := step("building the pause image")
	if err := run(ctx, "env", "CGO_ENABLED=0", "go", "build", "-C", c.Root, "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
		"-o", filepath.Join("bin", "linux-"+runtime.GOARCH, "pause"), "./tests/cluster/pause"); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, filepath.Join(c.Root, "tools", "make", "push-image"), "pause", "tests/cluster/pause/Dockerfile")
	command.Env = append(os.Environ(), "REGISTRY=", "PLATFORMS=")
	command.Dir = c.Root
	output, err := command.Output()
	if failed := (&exec.ExitError{}); errors.As(err, &failed) {
		return fmt.Errorf("building the pause image: %w: %s", err, failed.Stderr)
	} else if err != nil {
		return fmt.Errorf("building the pause image: %w", err)
	}
	c.PauseImage = strings.TrimSpace(string(output))
	done()
	return nil
}

// startNode starts what makes this machine a node: containerd, kubelet, the Services' network and the name service.
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
	// What a pod asks of no cluster DNS has no answer here.
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
	return run(ctx, filepath.Join(tools["kubernetes"], "kubectl"), "--kubeconfig="+c.kubeconfig(), "apply", "-f", filepath.Join(c.Data, "services.yaml"))
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
			ready: c.insideAnswers("http://127.0.0.1:10256/healthz")},
		{name: "coredns", path: filepath.Join(tools["coredns"], "coredns"), args: []string{"-conf=" + file("Corefile")},
			ready: c.insideAnswers("http://127.0.0.1:8181/ready")},
		{name: "registry-tls", path: filepath.Join(tools["registry"], "registry"), args: []string{"serve", file("registry-tls.yaml")},
			env: []string{"OTEL_TRACES_EXPORTER=none"}, ready: c.accepts("443")},
	}
}

func (s *settings) nodeReady(ctx context.Context) error {
	client, err := clients(s.kubeconfig())
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
	return errors.New("the node says nothing yet")
}

// insideAnswers waits for something that listens on the loopback interface of the cluster's network.
func (c *realCluster) insideAnswers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		command := c.inside(self, "answers", url)
		return run(ctx, command[0], command[1:]...)
	}
}

// accepts waits for something that listens on the node's address.
func (c *realCluster) accepts(port string) func(context.Context) error {
	return func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(c.NodeAddress, port))
		if err == nil {
			err = connection.Close()
		}
		return err
	}
}

// answers tells whether an HTTP server answers that all is well.
func answers(ctx context.Context, url string) error {
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

// down stops the cluster and forgets all that was in it, but for the images in its registry.
// However it came to its end, whatever is there of it is ended and removed.
func (c *realCluster) down(ctx context.Context) error {
	done := step("clearing away")
	for _, task := range []func(context.Context) error{c.endMembers, c.unmount, c.removeNetwork, c.removeGroups} {
		if err := task(ctx); err != nil {
			return err
		}
	}
	if err := c.removeFiles(); err != nil {
		return err
	}
	done()
	return nil
}

// wipe stops the cluster and removes everything that it keeps.
func (c *realCluster) wipe(ctx context.Context) error {
	if err := c.down(ctx); err != nil {
		return err
	}
	return os.RemoveAll(c.Data)
}

// removeFiles removes what a cluster wrote, but for its registry and its logs.
func (c *realCluster) removeFiles() error {
	entries, err := os.ReadDir(c.Data)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, entry := range entries {
		if path := filepath.Join(c.Data, entry.Name()); path != c.Registry && path != c.Logs {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	if err := os.RemoveAll(c.Run); err != nil {
		return err
	}
	return c.removeStrays()
}

// removeStrays removes what containerd, kubelet and the network plug-ins leave in places that nobody can choose.
func (c *realCluster) removeStrays() error {
	strays, err := filepath.Glob("/var/lib/cni/results/" + c.Name + "-*")
	if err != nil {
		return err
	}
	for _, result := range strays { // each has a twin for the pod's loopback interface
		id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(result), c.Name+"-"), "-eth0")
		if twin := "/var/lib/cni/results/cni-loopback-" + id + "-lo"; exists(twin) {
			strays = append(strays, twin)
		}
	}
	links, err := filepath.Glob("/var/log/containers/*.log")
	if err != nil {
		return err
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, c.Data+"/") {
			strays = append(strays, link)
		}
	}
	sockets, err := deadSockets("/run/containerd/s/*", "/var/lib/kubelet/device-plugins/kubelet.sock")
	if err != nil {
		return err
	}
	for _, stray := range append(strays, sockets...) {
		if err := os.Remove(stray); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// deadSockets are the sockets on which nobody listens any more.
func deadSockets(patterns ...string) ([]string, error) {
	living, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var dead []string
	for _, pattern := range patterns {
		sockets, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, socket := range sockets {
			if !strings.Contains(string(living), " "+socket+"\n") {
				dead = append(dead, socket)
			}
		}
	}
	return dead, nil
}
