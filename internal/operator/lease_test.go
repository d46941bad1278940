package operator

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// candidate is a process that takes part in the election.
type candidate struct {
	*lease
	leads, ended chan struct{}
	stop, kill   context.CancelFunc
}

// enter starts a process. Its watch works if watches is true.
func (s *leaseServer) enter(t *testing.T, name string, watches bool) *candidate {
	t.Helper()
	l := &lease{leases: s, key: client.ObjectKey{Namespace: "ns", Name: leaseName}, identity: name, now: time.Now, recorder: events.NewFakeRecorder(9)}
	if watches {
		s.watching = append(s.watching, l)
	}
	ctx, stop := context.WithCancel(t.Context())
	c := &candidate{lease: l, leads: make(chan struct{}), ended: make(chan struct{}), stop: stop}
	dying := &mortal{Interface: l}
	c.kill = func() { dying.kill(); stop() }
	go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: dying, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: electionPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(c.leads) }, OnStoppedLeading: func() { close(c.ended) },
		},
	})
	return c
}

// lead starts a process and waits until it leads.
func (s *leaseServer) lead(t *testing.T, watches bool) *candidate {
	t.Helper()
	leader := s.enter(t, "leader", watches)
	<-leader.leads
	return leader
}

// retire ends a leader in order.
func (c *candidate) retire() {
	c.stop()
	<-c.ended
}

// mortal is a lock whose process can be killed: it sends nothing then.
type mortal struct {
	resourcelock.Interface
	lock sync.Mutex
	dead bool
}

func (m *mortal) kill() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.dead = true
}

func (m *mortal) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.dead {
		return errors.New("killed")
	}
	return m.Interface.Update(ctx, record)
}

// took returns how long it takes until a channel is closed.
func took(until chan struct{}) time.Duration {
	began := time.Now()
	<-until
	return time.Since(began)
}

func TestAnotherProcessLeadsAsSoonAsItMay(t *testing.T) {
	for name, c := range map[string]struct {
		end         func(*candidate)
		watches     bool
		least, most time.Duration
	}{
		"the leader stops":                      {func(c *candidate) { c.stop() }, true, 0, time.Second},
		"the leader is killed":                  {func(c *candidate) { c.kill() }, true, leaseDuration - renewPeriod - electionPeriod, leaseDuration + time.Second},
		"the leader is killed, without a watch": {func(c *candidate) { c.kill() }, false, leaseDuration - renewPeriod - electionPeriod, 3 * leaseDuration},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &leaseServer{}
				first := s.enter(t, "first", c.watches)
				<-first.leads
				second := s.enter(t, "second", c.watches)
				time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
				select {
				case <-second.leads:
					t.Fatal("two lead")
				default:
				}
				c.end(first)
				if waited := took(second.leads); waited < c.least || waited > c.most {
					t.Errorf("the next one leads after %s", waited)
				}
				second.retire()
			})
		})
	}
}

func TestALeaderRenewsAsOftenAsItMust(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		leader := s.lead(t, true)
		standby := s.enter(t, "standby", true)
		time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
		before := s.received()
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
		if sent := s.received() - before; sent < 25 || sent > 30 {
			t.Errorf("they send %d requests in a minute", sent)
		}
		standby.stop()
		leader.retire()
	})
}

func TestALeaderThatCannotRenewStopsBeforeAnotherLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		leader := s.lead(t, true)
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
		s.lock.Lock()
		s.away = apierrors.NewServiceUnavailable("away")
		before := s.requests
		s.lock.Unlock()
		if lasted := took(leader.ended); lasted < renewDeadline || lasted > leaseDuration-renewPeriod {
			t.Errorf("it leads for another %s", lasted)
		}
		if sent := s.received() - before; sent > 7 {
			t.Errorf("it sent %d requests to an API server that is away", sent)
		}
	})
}

func TestAnEditOfTheLeaseByOthersDoesNotEndALeader(t *testing.T) {
	for name, watches := range map[string]bool{"seen": true, "not seen": false} {
		synctest.Test(t, func(t *testing.T) {
			s := &leaseServer{}
			leader := s.lead(t, watches)
			for range 10 {
				time.Sleep(3 * time.Second) //nolint:forbidigo // the bubble's clock
				if err := s.annotate(t.Context(), "edited", "yes"); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(leaseDuration) //nolint:forbidigo // the bubble's clock
			select {
			case <-leader.ended:
				t.Errorf("%s: it ended", name)
			default:
			}
			if found := s.current(); found.Annotations["edited"] != "yes" || time.Since(found.Spec.RenewTime.Time) > 2*renewPeriod {
				t.Errorf("%s: the lease is %+v", name, found)
			}
			leader.retire()
		})
	}
}

// TestALeaderRenewsALeaseThatOthersKeepEditing checks that a conflict, after which the leader reads its lease, does not count as renewing it.
func TestALeaderRenewsALeaseThatOthersKeepEditing(t *testing.T) {
	for name, watches := range map[string]bool{"seen": true, "not seen": false} {
		synctest.Test(t, func(t *testing.T) {
			s := &leaseServer{}
			leader := s.lead(t, watches)
			for range 60 {
				time.Sleep(time.Second) //nolint:forbidigo // the bubble's clock
				if err := s.annotate(t.Context(), "edited", time.Now().String()); err != nil {
					t.Fatal(err)
				}
				if age := time.Since(s.current().Spec.RenewTime.Time); age > 2*renewPeriod {
					t.Fatalf("%s: it was renewed %s ago", name, age)
				}
			}
			leader.retire()
		})
	}
}

func TestALeaderWhoseWritesAreRefusedStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		leader := s.lead(t, true)
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
		s.lock.Lock()
		s.readOnly = apierrors.NewInternalError(errors.New("no space"))
		s.lock.Unlock()
		select {
		case <-leader.ended:
		case <-time.After(leaseDuration - renewPeriod):
			t.Error("it leads on")
			leader.retire()
		}
	})
}

func TestALeaseThatIsDeletedIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{}
		leader := s.lead(t, true)
		s.lock.Lock()
		s.stored = nil
		s.lock.Unlock()
		leader.forget()
		time.Sleep(2 * renewPeriod) //nolint:forbidigo // the bubble's clock
		if found := s.current(); found == nil || *found.Spec.HolderIdentity != "leader" {
			t.Errorf("the lease is %+v", found)
		}
		leader.retire()
	})
}

// TestALeaderIsFollowedAfterTheClusterWasRestored checks that versions that are lower than before, as after a backup of etcd was restored, end no
// leader for good and let no two lead.
func TestALeaderIsFollowedAfterTheClusterWasRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &leaseServer{version: 1000}
		leader := s.lead(t, true)
		standby := s.enter(t, "standby", true)
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
		s.lock.Lock()
		s.version = 10
		s.stored.ResourceVersion = "10"
		s.lock.Unlock()
		time.Sleep(time.Minute) //nolint:forbidigo // the bubble's clock
		select {
		case <-leader.ended:
			t.Error("it ended")
		case <-standby.leads:
			t.Error("two lead")
		default:
		}
		leader.stop()
		if waited := took(standby.leads); waited > time.Second {
			t.Errorf("the next one leads after %s", waited)
		}
		standby.retire()
	})
}

func TestOlderVersionsOfTheLeaseAreNotBelieved(t *testing.T) {
	l := &lease{}
	for _, version := range []string{"9", "10", "9"} {
		l.saw(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}})
	}
	if l.known().ResourceVersion != "10" {
		t.Errorf("it believes version %s", l.known().ResourceVersion)
	}
}

func TestALeaseNeedsANamespace(t *testing.T) {
	if _, err := newLease(&rest.Config{}, ""); !errors.Is(err, errNoLeaseNamespace) {
		t.Errorf("got %v", err)
	}
	l, err := newLease(&rest.Config{}, "ns")
	if err != nil || l.Describe() != "ns/"+leaseName {
		t.Errorf("got %v, %v", l, err)
	}
}
