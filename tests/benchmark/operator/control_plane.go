package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/benchmark/process"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// namespace is the namespace of the Echoes.
	namespace   = "benchmark"
	podsPerEcho = 2
	// startTimeout limits how long a program may take to start.
	startTimeout = time.Minute
	// silence is how long nothing happens before a measurement is complete.
	silence = 2 * time.Second
)

// controlPlane consists of etcd, an API server without controllers, and the programs that use it.
type controlPlane struct {
	env      *envtest.Environment
	client   client.Client // has an administrator's permissions
	config   *rest.Config  // of this client
	operator *rest.Config  // has the operator's permissions
	folder   string
	token    string         // of a service account that can read the operator's metrics
	servers  map[string]int // the process IDs of the API server and etcd
	programs []*program     // excludes programs that were killed
	current  *program       // the operator that was started last, or nil
	closers  []func()
}

// startControlPlane starts an empty control plane. The caller must stop it, even if the start failed.
func startControlPlane(ctx context.Context) (p *controlPlane, err error) {
	p = &controlPlane{servers: map[string]int{}}
	if p.folder, err = os.MkdirTemp("", "operator-benchmark"); err != nil {
		return p, err
	}
	if p.env, err = controlplane.Start(filepath.Join("config", "crd", "bases")); err != nil {
		return p, err
	}
	for _, name := range []string{"kube-apiserver", "etcd"} {
		pid, err := exec.CommandContext(ctx, "pgrep", "--parent", strconv.Itoa(os.Getpid()), "--exact", name).Output()
		if err == nil {
			p.servers[name], err = strconv.Atoi(strings.TrimSpace(string(pid)))
		}
		if err != nil {
			return p, fmt.Errorf("finding %s: %w", name, err)
		}
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		return p, err
	}
	p.config = rest.CopyConfig(p.env.Config)
	p.config.QPS = -1
	if p.client, err = client.New(p.config, client.Options{Scheme: scheme}); err != nil {
		return p, err
	}
	if err := p.client.Create(ctx, &corev1.Namespace{Name: namespace}); err != nil {
		return p, err
	}
	return p, errors.Join(p.addOperator(ctx), p.addScraper(ctx))
}

// stop stops the programs and the control plane.
func (p *controlPlane) stop() error {
	for _, g := range slices.Clone(p.programs) {
		p.kill(g)
	}
	for _, stop := range p.closers {
		stop()
	}
	if p.env == nil {
		return nil
	}
	return p.env.Stop()
}

// addOperator adds the operator's user with its permissions.
func (p *controlPlane) addOperator(ctx context.Context) (err error) {
	leases, err := controlplane.Manifest(filepath.Join("config", "rbac", "leader_election_role.yaml"), &rbacv1.Role{})
	if err != nil {
		return err
	}
	if p.operator, err = p.addUser(controlplane.OperatorUser); err != nil {
		return err
	}
	// With a certificate, as from OpenShift or cert-manager, the operator does not spend most of its start generating one. No client verifies
	// the certificate.
	return errors.Join(
		controlplane.GrantOperatorsRole(ctx, p.client, "config"),
		controlplane.Grant(ctx, p.client, controlplane.OperatorUser, namespace, leases.Rules),
		os.WriteFile(filepath.Join(p.folder, "tls.crt"), p.operator.CertData, 0o600),
		os.WriteFile(filepath.Join(p.folder, "tls.key"), p.operator.KeyData, 0o600))
}

// addUser adds a user and writes the user's kubeconfig.
func (p *controlPlane) addUser(name string) (*rest.Config, error) {
	user, err := p.env.AddUser(envtest.User{Name: name}, nil)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(user.Config())
	config.QPS = -1
	return config, os.WriteFile(p.kubeconfig(name), kubeconfig, 0o600)
}

func (p *controlPlane) kubeconfig(user string) string {
	return filepath.Join(p.folder, user+".kubeconfig")
}

// addScraper adds a service account that can read the operator's metrics.
func (p *controlPlane) addScraper(ctx context.Context) error {
	account := &corev1.ServiceAccount{Namespace: namespace, Name: "scraper"}
	if err := p.client.Create(ctx, account); err != nil {
		return err
	}
	rules := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
	if err := controlplane.Grant(ctx, p.client, "system:serviceaccount:"+namespace+":scraper", "", rules); err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(24 * time.Hour / time.Second))}}
	err := p.client.SubResource("token").Create(ctx, account, request)
	p.token = request.Status.Token
	return err
}

// cpuTimes is the CPU time of each program. The key of this program is "benchmark".
type cpuTimes map[string]time.Duration

func (c cpuTimes) sum() time.Duration {
	total := time.Duration(0)
	for _, d := range c {
		total += d
	}
	return total
}

// cpu returns the CPU time that the running programs have used.
func (p *controlPlane) cpu() (cpuTimes, error) {
	used, pids := cpuTimes{}, maps.Clone(p.servers)
	pids["benchmark"] = os.Getpid()
	for _, g := range p.programs {
		pids["operator"] = g.pid()
	}
	for name, pid := range pids {
		var err error
		if used[name], err = process.CPUTime(pid); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return used, nil
}

// measure returns the CPU time that is used from the start of a function until nothing happens anymore. The function can start programs.
func (p *controlPlane) measure(ctx context.Context, happen func() error) (cpuTimes, error) {
	if err := p.quiet(ctx); err != nil {
		return nil, err
	}
	before, err := p.cpu()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(happen(), p.quiet(ctx)); err != nil {
		return nil, err
	}
	used, err := p.cpu()
	for name, d := range before {
		used[name] -= d
	}
	return used, err
}

// quiet waits until all programs together use less than one eighth of a core.
func (p *controlPlane) quiet(ctx context.Context) error {
	const limit = silence / 8
	last := time.Duration(0)
	return poll(ctx, silence, 2*time.Minute, func(context.Context) (bool, error) {
		now, err := p.cpu()
		used := now.sum() - last
		last = now.sum()
		return used >= 0 && used < limit, err
	})
}

func poll(ctx context.Context, every, timeout time.Duration, condition wait.ConditionWithContextFunc) error {
	return wait.PollUntilContextTimeout(ctx, every, timeout, true, condition)
}

// timeoutFor returns how long an operation on a number of Echoes may take.
func timeoutFor(n int) time.Duration { return 5*time.Minute + time.Duration(n)*time.Second }

// awaitEvents waits for a number of events. The last object that the operator creates for an Echo is its only event. It polls rarely,
// because lists use CPU time.
func (p *controlPlane) awaitEvents(ctx context.Context, wanted int) error {
	return poll(ctx, time.Second/2, timeoutFor(wanted), func(ctx context.Context) (bool, error) {
		list := &eventsv1.EventList{}
		err := p.client.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
		there := len(list.Items)
		if list.RemainingItemCount != nil {
			there += int(*list.RemainingItemCount)
		}
		return there >= wanted, err
	})
}

// newEcho returns an Echo with a name whose length does not depend on its number.
func newEcho(number int) *v1.Echo {
	return &v1.Echo{Namespace: namespace, Name: fmt.Sprintf("echo-%05d", number), Spec: v1.EchoSpec{Replicas: new(int32(podsPerEcho))}}
}

func (p *controlPlane) createEchoes(ctx context.Context, n int) error {
	return parallel(ctx, n, func(ctx context.Context, i int) error {
		return p.client.Create(ctx, newEcho(i))
	})
}
