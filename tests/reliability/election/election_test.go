// Package election tests, on a real API server, that two operator replicas never work at the same time, and that they recover from crashes.
// Two operators connect to the API server through a network that randomly drops and delays requests, and that records when each request was
// sent and when it arrived. `make leader-election` runs the test for ten minutes, and `make test` for about one minute.
package election

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/controlplane"
)

const (
	// maxDelay is the longest total delay of a request and its response. It is too short for a lease to expire.
	maxDelay = time.Second
	// longDelay is so long that the leader cannot renew the lease before the renew deadline.
	longDelay = 8 * time.Second
	// patience limits how long the tests wait, and allows for a busy machine.
	patience = 3 * time.Minute
	// editPeriod is the time between two changes to Echoes.
	editPeriod = 200 * time.Millisecond
	// echoes is the number of Echoes: enough for a leader that lost the lease to send writes while some Echoes wait for lost requests.
	echoes = 20
)

// startServer starts an API server that can be started again, and creates the Echoes.
func startServer(t *testing.T) (*envtest.Environment, client.Client) {
	t.Helper()
	support.SkipWithoutAPIServer(t)
	g := NewWithT(t)
	config := filepath.Join("..", "..", "..", "config")
	env, admin := controlplane.StartForTest(t, config, func(s *envtest.APIServer) { s.CertDir = t.TempDir() })
	g.Expect(admin.Create(t.Context(), &corev1.Namespace{Name: leaseNamespace})).To(Succeed())
	role, err := controlplane.Manifest(filepath.Join(config, "rbac", "leader_election_role.yaml"), &rbacv1.Role{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(controlplane.Grant(t.Context(), admin, controlplane.OperatorUser, leaseNamespace, role.Rules)).To(Succeed())
	for i := range echoes {
		g.Expect(admin.Create(t.Context(), support.Echo("default", fmt.Sprintf("echo-%d", i)))).To(Succeed())
	}
	return env, admin
}

// awaitLeader waits until a process other than the given process is the leader, and returns the leader.
func (n *network) awaitLeader(t *testing.T, other int) (leader int) {
	t.Helper()
	NewWithT(t).Eventually(func() int {
		leader = judge(n.log()).leader
		return leader
	}).WithTimeout(patience).WithPolling(50 * time.Millisecond).ShouldNot(BeElementOf(0, other))
	return leader
}

// calm waits for some time while the network loses some requests.
func (n *network) calm(delay time.Duration) {
	loss := 0.3 * rand.Float64()
	w := weather{loss: loss, leaseLoss: loss, delay: delay}
	n.locked(func(time.Duration) { n.weather = [2]weather{w, w} })
	<-time.After(5*time.Second + rand.N(10*time.Second))
}

// trouble makes a leader stop: it loses its lease or all requests, or it is killed or stopped in order.
func (n *network) trouble(leader, round int) {
	n.locked(func(time.Duration) {
		switch round % 4 {
		case 0: // other requests still arrive
			n.weather[leader%2] = weather{leaseLoss: 1, delay: maxDelay}
		case 1:
			n.ended[leader] = true
			n.stop[leader%2]()
		case 2:
			n.weather[leader%2] = weather{loss: 1, leaseLoss: 1, delay: maxDelay}
		default:
			n.stop[leader%2]()
		}
	})
}

// edit changes Echoes until ctx is done. It fails while the API server is restarted.
func edit(ctx context.Context, admin client.Client) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		change := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, rand.IntN(20)))
		_ = admin.Patch(ctx, &v1.Echo{Namespace: "default", Name: fmt.Sprintf("echo-%d", rand.IntN(echoes))}, change)
	}, editPeriod)
}

// TestOneLeader checks that a leader sends no writes more than 13 s after its last successful renewal, and that no write arrives after
// another process has acquired the lease. Then, requests are delayed so long that two leaders may work, and the API server is killed. In the
// end, every Echo must match its spec.
func TestOneLeader(t *testing.T) {
	env, admin := startServer(t)
	n := &network{began: time.Now(), renewed: map[int]time.Duration{}, ended: map[int]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	editing, stopEdits := context.WithCancel(ctx)
	running.Go(func() { edit(editing, admin) })
	for replica := range n.weather {
		running.Go(func() { n.run(ctx, t, env.Config, replica) })
	}
	rounds, all := 0, os.Getenv("RELIABILITY") == "all"
	n.awaitLeader(t, 0)
	for ; rounds < 1 || all && time.Since(n.began) < 10*time.Minute; rounds++ {
		n.calm(maxDelay)
		before := n.awaitLeader(t, 0)
		n.trouble(before, rounds)
		leader := n.awaitLeader(t, before)
		t.Logf("%6.1f s: process %d is the leader instead of process %d", time.Since(n.began).Seconds(), leader, before)
	}
	v := judge(n.log())
	for _, violation := range v.violations {
		t.Error(violation)
	}
	if v.elections <= rounds || v.longest < workTimeout/2 {
		t.Errorf("the log shows too little: %d elections in %d rounds", v.elections, rounds)
	}
	t.Logf("%d requests; %d elections; writes at most %.3f s after a renewal", len(n.log()), v.elections, v.longest.Seconds())

	for range min(rounds/2, 12) {
		n.calm(longDelay)
	}
	if all {
		server := env.ControlPlane.GetAPIServer()
		if err := server.Stop(); err != nil { // after 20 s, envtest kills a server that has open watches
			t.Log(err)
		}
		NewWithT(t).Eventually(server.Start).WithTimeout(patience).Should(Succeed())
		n.calm(maxDelay)
	}
	stopEdits()
	n.locked(func(time.Duration) { n.weather = [2]weather{} })
	NewWithT(t).Eventually(func(g Gomega) {
		for i := range echoes {
			key := client.ObjectKey{Namespace: "default", Name: fmt.Sprintf("echo-%d", i)}
			echo, deployment := &v1.Echo{}, &appsv1.Deployment{}
			g.Expect(admin.Get(ctx, key, echo)).To(Succeed())
			g.Expect(admin.Get(ctx, key, deployment)).To(Succeed())
			g.Expect(echo.Status.ObservedGeneration).To(Equal(echo.Generation))
			g.Expect(*deployment.Spec.Replicas).To(Equal(echo.Spec.DesiredReplicas()))
		}
	}).WithTimeout(patience).Should(Succeed())
}
