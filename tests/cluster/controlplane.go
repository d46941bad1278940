package main

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/echo-operator/echo-operator/tests/support/loopback"
)

// controlPlane returns the control plane's processes, which require neither a node nor the root user. The API server listens on
// NodeAddress. The other processes listen on the loopback interface.
func (s *settings) controlPlane(tools map[string]string, ports controlPlanePorts) []process {
	pki := func(name string) string { return filepath.Join(s.Data, "pki", name) }
	kubeconfig := func(name string) string { return "--kubeconfig=" + filepath.Join(s.Data, name+".kubeconfig") }
	etcd := "http://127.0.0.1:" + strconv.Itoa(ports.etcd)
	peer := "http://127.0.0.1:" + strconv.Itoa(ports.peer)
	program := func(set, name string) string { return filepath.Join(tools[set], name) }
	return []process{
		{name: "etcd", path: program("apiserver", "etcd"), args: []string{
			"--data-dir=" + filepath.Join(s.Data, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		}},
		{name: "kube-apiserver", path: program("apiserver", "kube-apiserver"), ready: s.apiServerReady, args: []string{
			"--etcd-servers=" + etcd, "--advertise-address=" + s.NodeAddress, "--bind-address=" + s.NodeAddress,
			"--secure-port=" + strconv.Itoa(s.APIPort), "--service-cluster-ip-range=" + s.ServiceRange,
			"--authorization-mode=Node,RBAC", "--allow-privileged=true",
			"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
			"--client-ca-file=" + pki("ca.crt"), "--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + pki("service-account.crt"), "--service-account-signing-key-file=" + pki("service-account.key"),
			"--kubelet-client-certificate=" + pki("apiserver-kubelet.crt"), "--kubelet-client-key=" + pki("apiserver-kubelet.key"),
			"--kubelet-preferred-address-types=InternalIP",
			"--requestheader-client-ca-file=" + pki("ca.crt"), "--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + pki("front-proxy.crt"), "--proxy-client-key-file=" + pki("front-proxy.key"),
		}},
		{name: "kube-controller-manager", path: program("kubernetes", "kube-controller-manager"), args: []string{
			kubeconfig("kube-controller-manager"), "--leader-elect=false", "--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(ports.controllerManager), "--allocate-node-cidrs", "--cluster-cidr=" + s.PodRange,
			"--use-service-account-credentials", "--root-ca-file=" + pki("ca.crt"),
			"--service-account-private-key-file=" + pki("service-account.key"),
			"--kube-api-qps=100", "--kube-api-burst=200", // with the default limits, 2,000 rollouts take half an hour
		}},
		{name: "kube-scheduler", path: program("kubernetes", "kube-scheduler"), args: []string{
			kubeconfig("kube-scheduler"), "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(ports.scheduler),
		}},
	}
}

// controlPlanePorts contains the control plane's ports on the loopback interface.
type controlPlanePorts struct{ etcd, peer, controllerManager, scheduler int }

// freePorts returns free ports on the loopback interface. It also chooses the API server's port.
func (s *settings) freePorts(ctx context.Context) (controlPlanePorts, error) {
	ports := [5]int{}
	for i := range ports {
		address, err := loopback.ReserveAddress(ctx)
		if err != nil {
			return controlPlanePorts{}, err
		}
		_, port, _ := net.SplitHostPort(address)
		if ports[i], err = strconv.Atoi(port); err != nil {
			return controlPlanePorts{}, err
		}
	}
	s.APIPort = ports[4]
	return controlPlanePorts{ports[0], ports[1], ports[2], ports[3]}, nil
}

func (s *settings) server() string {
	return "https://" + net.JoinHostPort(s.NodeAddress, strconv.Itoa(s.APIPort))
}

// newClientset returns a client for a cluster.
func newClientset(kubeconfig string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = 5 * time.Second
	return kubernetes.NewForConfig(config)
}

func (s *settings) apiServerReady(ctx context.Context) error {
	client, err := newClientset(s.kubeconfig())
	if err != nil {
		return err
	}
	if _, err = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	return nil
}

// isRunning reports whether the cluster has started completely, and all of its processes are still running.
func (s *settings) isRunning(ctx context.Context) bool {
	files, err := filepath.Glob(s.pidFile("*"))
	return err == nil && exists(s.startedFile()) && len(s.recorded("*")) == len(files) && s.apiServerReady(ctx) == nil
}

// startedFile returns the path of a file that exists if the cluster has started completely.
func (s *settings) startedFile() string { return filepath.Join(s.Run, "started") }
