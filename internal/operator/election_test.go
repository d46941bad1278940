package operator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// leaseServer is a fake API server with one lease. It rejects updates that are based on another version of the lease.
type leaseServer struct {
	lease   *coordinationv1.Lease
	updates int
	// If afterRead is not nil, it is called after the lease is read.
	afterRead func(*coordinationv1.Lease)
}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.lease == nil || !strings.HasSuffix(r.URL.Path, "/namespaces/ns/leases/"+leaseName) {
		http.NotFound(w, r)
		return
	}
	if r.Method == http.MethodPut {
		s.updates++
		body, _ := io.ReadAll(r.Body)
		sent := &coordinationv1.Lease{}
		_, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, sent) // it may be encoded as protobuf
		if err != nil || sent.ResourceVersion != s.lease.ResourceVersion {
			w.WriteHeader(http.StatusConflict)
			return
		}
		s.lease = sent
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.lease)
	if r.Method == http.MethodGet && s.afterRead != nil {
		s.afterRead(s.lease)
	}
}

// holder returns the identity that holds the lease.
func (s *leaseServer) holder() string { return *s.lease.Spec.HolderIdentity }

// serveLease returns a server with one lease, and a new lock that holds the lease.
func serveLease(t *testing.T) (*leaseServer, resourcelock.Interface) {
	t.Helper()
	s := &leaseServer{}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	lock, err := newLock(&rest.Config{Host: server.URL}, "ns")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	s.lease = &coordinationv1.Lease{Name: leaseName, Namespace: "ns", ResourceVersion: "1",
		Spec: coordinationv1.LeaseSpec{HolderIdentity: new(lock.Identity()), LeaseTransitions: new(int32(7))}}
	return s, lock
}

func TestRelease(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*leaseServer)
		holder  string
		updates int
	}{
		"held":                      {func(*leaseServer) {}, "", 1},
		"held by another process":   {func(s *leaseServer) { s.lease.Spec.HolderIdentity = new("other") }, "other", 0},
		"changed after it was read": {func(s *leaseServer) { s.afterRead = takenOver }, "other", 1},
	} {
		g := NewWithT(t)
		s, lock := serveLease(t)
		c.change(s)
		err := release(t.Context(), lock)
		g.Expect(apierrors.IsConflict(err)).To(Equal(s.afterRead != nil), name)
		g.Expect(err == nil).To(Equal(s.afterRead == nil), name)
		g.Expect(s.holder()).To(Equal(c.holder), name)
		g.Expect(s.updates).To(Equal(c.updates), name)
		g.Expect(*s.lease.Spec.LeaseTransitions).To(BeEquivalentTo(7), name)
		if c.holder == "" {
			g.Expect(*s.lease.Spec.LeaseDurationSeconds).To(BeEquivalentTo(1))
		}
		s.lease = nil
		g.Expect(release(t.Context(), lock)).To(Succeed(), "%s, and deleted", name)
	}
}

// takenOver makes another process the holder of a lease.
func takenOver(l *coordinationv1.Lease) { l.ResourceVersion, l.Spec.HolderIdentity = "2", new("other") }

func TestNewLock(t *testing.T) {
	NewWithT(t).Expect(newLock(&rest.Config{}, "")).Error().To(MatchError(errNoLeaseNamespace), "without a namespace")
	_, one := serveLease(t)
	_, other := serveLease(t)
	if one.Describe() != "ns/"+leaseName || one.Identity() == other.Identity() {
		t.Errorf("%s is locked by %s and %s", one.Describe(), one.Identity(), other.Identity())
	}
}

// endedManager is a manager whose Start method returns the error in the ends field, or nil. It returns when its context is done, or
// immediately if it has lost the lease.
type endedManager struct {
	manager.Manager
	ends error
	lost bool
}

func (m endedManager) Start(ctx context.Context) error {
	if !m.lost {
		<-ctx.Done()
	}
	return m.ends
}

func TestStart_releasesLeaseAfterOrderlyEnd(t *testing.T) {
	for name, c := range map[string]struct {
		manager  endedManager
		released bool
	}{
		"in order":                  {endedManager{}, true},
		"runnables that do not end": {endedManager{ends: errors.New("grace period")}, false},
		"leader election lost":      {endedManager{ends: errors.New("lost"), lost: true}, false},
	} {
		s, lock := serveLease(t)
		ctx, stop := context.WithCancel(t.Context())
		if !c.manager.lost {
			stop()
		}
		o := Operator{Manager: c.manager, synced: make(synced), lock: lock,
			supervisor: (&scenario{filled: always}).supervisor(time.Now())}
		close(o.synced)
		if err := o.Start(ctx); !errors.Is(err, c.manager.ends) || (s.holder() == "") != c.released {
			t.Errorf("%s: held by %q: %v", name, s.holder(), err)
		}
		stop()
	}
}
