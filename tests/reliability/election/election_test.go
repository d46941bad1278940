package election

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	// interval is the time between two checks of a condition.
	interval = 50 * time.Millisecond
	// editPeriod is the time between two changes to Echoes.
	editPeriod = 200 * time.Millisecond
	// echoes is the number of Echoes. It is large, so that a leader that lost the lease still sends writes while some Echoes wait for lost
	// requests.
	echoes = 20
)

// trouble is a problem that makes a leader stop.
type trouble int

const (
	leaseLost trouble = iota // only lease requests are lost, so other requests still arrive
	allLost
	terminated
	troubles
)

// scene is an API server with changing Echoes, and two replicas of the operator.
type scene struct {
	*replicas
	client client.Client // has an administrator's permissions, and does not use a link
	random *rand.Rand
}

// newScene starts the API server. The seed is random, unless ELECTION_SEED sets it.
func newScene(t *testing.T) *scene {
	t.Helper()
	support.SkipWithoutAPIServer(t)
	g := NewWithT(t)
	ctrl.SetLogger(logr.Discard())
	seed, err := strconv.ParseUint(os.Getenv("ELECTION_SEED"), 10, 64)
	if err != nil {
		seed = rand.Uint64()
	}
	t.Logf("ELECTION_SEED=%d", seed)
	config := filepath.Join("..", "..", "..", "config")
	env, err := controlplane.Start(filepath.Join(config, "crd", "bases"))
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	g.Expect(err).NotTo(HaveOccurred())
	scheme, err := support.Scheme()
	g.Expect(err).NotTo(HaveOccurred())
	admin, err := client.New(env.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(prepare(t.Context(), admin, config)).To(Succeed())
	return &scene{replicas: newReplicas(t, env.Config, seed), client: admin, random: rand.New(rand.NewPCG(seed, 2))}
}

// prepare grants the operator its permissions and creates the Echoes.
func prepare(ctx context.Context, admin client.Client, config string) error {
	if err := admin.Create(ctx, &corev1.Namespace{Name: leaseNamespace}); err != nil {
		return err
	}
	if err := controlplane.GrantOperatorsRole(ctx, admin, config); err != nil {
		return err
	}
	role, err := controlplane.Manifest(filepath.Join(config, "rbac", "leader_election_role.yaml"), &rbacv1.Role{})
	if err != nil {
		return err
	}
	if err := controlplane.Grant(ctx, admin, controlplane.OperatorUser, leaseNamespace, role.Rules); err != nil {
		return err
	}
	for i := range echoes {
		if err := admin.Create(ctx, support.Echo("default", fmt.Sprintf("echo-%d", i))); err != nil {
			return err
		}
	}
	return nil
}

// edit changes Echoes until the caller calls stop.
func (s *scene) edit(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	random := rand.New(rand.NewPCG(s.random.Uint64(), 3))
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			change := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, random.IntN(20)))
			echo := &v1.Echo{Namespace: "default", Name: fmt.Sprintf("echo-%d", random.IntN(echoes))}
			if err := s.client.Patch(ctx, echo, change); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}, editPeriod)
	}()
	return func() {
		cancel()
		<-done
	}
}

// await waits until a condition is true.
func await(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	check := func(ctx context.Context) (bool, error) { return is(ctx), nil }
	NewWithT(t).Expect(wait.PollUntilContextTimeout(t.Context(), interval, patience, true, check)).To(Succeed(), "%s", what)
}

// awaitLeader waits until a process other than the given process is the leader, and returns the leader.
func (s *scene) awaitLeader(t *testing.T, other int) int {
	t.Helper()
	leads := 0
	await(t, fmt.Sprintf("a leader other than process %d", other), func(context.Context) bool {
		leads = leader(s.journal.all())
		return leads != 0 && leads != other
	})
	return leads
}

// awaitConvergence waits until every Echo matches its spec.
func (s *scene) awaitConvergence(t *testing.T) {
	t.Helper()
	await(t, "convergence", func(ctx context.Context) bool {
		for i := range echoes {
			key := client.ObjectKey{Namespace: "default", Name: fmt.Sprintf("echo-%d", i)}
			echo, deployment := &v1.Echo{}, &appsv1.Deployment{}
			if s.client.Get(ctx, key, echo) != nil || s.client.Get(ctx, key, deployment) != nil {
				return false
			}
			if echo.Status.ObservedGeneration != echo.Generation || *deployment.Spec.Replicas != echo.Spec.DesiredReplicas() {
				return false
			}
		}
		return true
	})
}

// calm waits for some time while the network loses some requests.
func (s *scene) calm(t *testing.T, delay time.Duration) {
	t.Helper()
	loss := 0.3 * s.random.Float64()
	s.setWeather(weather{loss: loss, leaseLoss: loss, delay: delay})
	select {
	case <-t.Context().Done():
	case <-time.After(5*time.Second + time.Duration(s.random.Int64N(int64(10*time.Second)))):
	}
}

// end causes trouble for the leader until another process becomes the leader.
func (s *scene) end(t *testing.T, how trouble) {
	t.Helper()
	before := s.awaitLeader(t, 0)
	switch how {
	case leaseLost:
		s.networks[before%2].set(weather{leaseLoss: 1, delay: maxDelay})
	case allLost:
		s.networks[before%2].set(weather{loss: 1, leaseLoss: 1, delay: maxDelay})
	default:
		if err := s.terminate(before % 2); err != nil {
			t.Log(err) // the process has already exited
		}
	}
	after := s.awaitLeader(t, before)
	t.Logf("%6.1f s: process %d is the leader instead of process %d", time.Since(s.journal.began).Seconds(), after, before)
}

// TestOneLeader checks that a leader sends no writes more than 13 s after its last successful renewal. No write may arrive after another
// process has acquired the lease. Events are exempt.
func TestOneLeader(t *testing.T) {
	lasts := time.Duration(0)
	if os.Getenv("RELIABILITY") == "all" {
		lasts = 10 * time.Minute
	}
	s, rounds := newScene(t), 0
	t.Cleanup(func() { s.judge(t, rounds) })
	stop := s.start(t)
	defer stop()
	stopEdits := s.edit(t)
	defer stopEdits()
	s.awaitLeader(t, 0)
	for began := time.Now(); rounds == 0 || time.Since(began) < lasts; rounds++ {
		s.calm(t, maxDelay)
		s.end(t, trouble(rounds)%troubles)
	}
	stopEdits()
	s.setWeather(weather{})
	s.awaitConvergence(t)
}

// judge fails the test if the log shows a violation, or is not sufficient to rule out a violation.
func (s *scene) judge(t *testing.T, rounds int) {
	t.Helper()
	requests := s.journal.all()
	v := judge(requests)
	for _, violation := range v.violations {
		t.Error(violation)
	}
	if v.elections <= rounds || v.longest < workTimeout/2 || leader(requests) != 0 {
		t.Errorf("the log shows too little: %d elections in %d rounds; process %d holds the lease", v.elections, rounds, leader(requests))
	}
	unanswered := 0
	var lines strings.Builder
	for _, r := range requests {
		if r.answered == 0 {
			unanswered++
		}
		fmt.Fprintln(&lines, r)
	}
	NewWithT(t).Expect(os.WriteFile(filepath.Join(s.folder, "requests.log"), []byte(lines.String()), 0o600)).To(Succeed())
	t.Logf("%d requests, of which %d are watches or have no response; %d elections; %d writes by leaders, at most %.3f s after a renewal; "+
		"%d violations", len(requests), unanswered, v.elections, v.work, v.longest.Seconds(), len(v.violations))
}

// TestLongDelays checks that the state converges after delays that are too long for lease renewals.
func TestLongDelays(t *testing.T) {
	if os.Getenv("RELIABILITY") != "all" {
		t.Skip("the test takes minutes: set RELIABILITY=all to run it")
	}
	s := newScene(t)
	stop := s.start(t)
	defer stop()
	stopEdits := s.edit(t)
	defer stopEdits()
	s.awaitLeader(t, 0)
	for range 12 {
		s.calm(t, longDelay)
	}
	stopEdits()
	s.setWeather(weather{})
	s.awaitConvergence(t)
	v := judge(s.journal.all())
	t.Logf("%d elections; %d writes by leaders; %d writes that two leaders may have sent", v.elections, v.work, len(v.violations))
}
