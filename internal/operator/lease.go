package operator

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// leaseDuration is how long others wait for a leader that renews nothing. A leader that cannot renew for renewDeadline stops earlier.
	leaseDuration = 15 * time.Second
	renewDeadline = 8 * time.Second
	// renewPeriod is how often a leader renews the lease, and how long a process waits after a request that failed.
	renewPeriod = 2 * time.Second
	// electionPeriod is how often a process looks at what it knows of the lease. That sends no request.
	electionPeriod = 200 * time.Millisecond
)

// lease is the lease of the leader. Each process watches it, so that another one leads as soon as it was released or has expired; the lock of
// client-go is read every two seconds instead. Who leads is decided by the API server: it refuses an update of any version but the newest.
type lease struct {
	leases   coordinationclient.LeaseInterface
	watched  *cache.ListWatch
	key      client.ObjectKey
	identity string
	now      func() time.Time
	// recorder reports who leads. It is set before the election begins.
	recorder events.EventRecorder

	lock sync.Mutex
	// newest is the newest version of what was watched, read and written, nil if it is not known.
	newest *coordinationv1.Lease
	// renewed is when this process wrote the lease, and failed when a request failed because of failure.
	renewed, failed time.Time
	failure         error
}

var errNoLeaseNamespace = errors.New("the namespace of the lease is not known: outside of a cluster, set --leader-election-namespace")

// newLease returns the lease of a namespace. The identity of the process begins with its host name.
func newLease(cluster *rest.Config, namespace string) (*lease, error) {
	if namespace == "" {
		return nil, errNoLeaseNamespace
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	requests, err := coordinationclient.NewForConfig(cluster)
	if err != nil {
		return nil, err
	}
	quick := rest.CopyConfig(cluster)
	quick.Timeout = renewDeadline / 2 // so that one request that is not answered does not end a leader
	quickRequests, err := coordinationclient.NewForConfig(quick)
	if err != nil {
		return nil, err
	}
	byName := fields.OneTermEqualSelector(metav1.ObjectNameField, leaseName)
	return &lease{
		leases:   quickRequests.Leases(namespace),
		watched:  cache.NewListWatchFromClient(requests.RESTClient(), "leases", namespace, byName),
		key:      client.ObjectKey{Namespace: namespace, Name: leaseName},
		identity: host + "_" + string(uuid.NewUUID()),
		now:      time.Now,
	}, nil
}

// run watches the lease until ctx ends.
func (l *lease) run(ctx context.Context) {
	saw := func(object any) {
		if found, ok := object.(*coordinationv1.Lease); ok {
			l.saw(found)
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: l.watched,
		ObjectType:    &coordinationv1.Lease{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: saw, UpdateFunc: func(_, found any) { saw(found) }, DeleteFunc: func(any) { l.forget() },
		},
	})
	informer.RunWithContext(ctx)
}

// saw keeps a version of the lease, if none is known that is newer.
func (l *lease) saw(found *coordinationv1.Lease) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.newest != nil {
		order, err := resourceversion.CompareResourceVersion(found.ResourceVersion, l.newest.ResourceVersion)
		if err == nil && order < 0 {
			return
		}
	}
	l.newest = found
}

// forget makes the next look read the lease.
func (l *lease) forget() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.newest = nil
}

// known returns the newest version, nil if it is not known.
func (l *lease) known() *coordinationv1.Lease {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.newest
}

// Get implements resourcelock.Interface. It sends a request only if the lease is not known.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found := l.known()
	if found == nil {
		var err error
		if found, err = l.request(func() (*coordinationv1.Lease, error) { return l.leases.Get(ctx, l.key.Name, metav1.GetOptions{}) }); err != nil {
			return nil, nil, err
		}
	}
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&found.Spec)
	raw, err := json.Marshal(record)
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	made := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.key.Namespace, Name: l.key.Name},
		Spec:       resourcelock.LeaderElectionRecordToLeaseSpec(&record),
	}
	return l.write(func() (*coordinationv1.Lease, error) { return l.leases.Create(ctx, made, metav1.CreateOptions{}) })
}

// Update implements resourcelock.Interface. A leader that renewed the lease a moment ago sends no request.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	changed := l.known().DeepCopy()
	if changed == nil {
		return errors.New("the lease is not known")
	}
	if l.isRenewed(changed, record) {
		return nil
	}
	changed.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	return l.write(func() (*coordinationv1.Lease, error) { return l.leases.Update(ctx, changed, metav1.UpdateOptions{}) })
}

// isRenewed reports whether this process holds the lease, keeps it, and wrote it a moment ago.
func (l *lease) isRenewed(held *coordinationv1.Lease, record resourcelock.LeaderElectionRecord) bool {
	l.lock.Lock()
	defer l.lock.Unlock()
	return held.Spec.HolderIdentity != nil && *held.Spec.HolderIdentity == l.identity && record.HolderIdentity == l.identity &&
		l.now().Sub(l.renewed) < renewPeriod
}

// write sends a request that writes the lease. Only that renews it: a leader that only reads its lease would lead on while others see it expire.
func (l *lease) write(send func() (*coordinationv1.Lease, error)) error {
	if _, err := l.request(send); err != nil {
		return err
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	l.renewed = l.now()
	return nil
}

// request sends a request, unless one failed a moment ago, and keeps the answer. After an error it is not known what the lease is.
func (l *lease) request(send func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if err := l.lately(); err != nil {
		return nil, err
	}
	answer, err := send()
	if err != nil {
		l.forget()
		l.fail(err)
		return nil, err
	}
	l.saw(answer)
	return answer, nil
}

// lately returns the error of a request that failed a moment ago, nil if none did.
func (l *lease) lately() error {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.failure != nil && l.now().Sub(l.failed) < renewPeriod {
		return l.failure
	}
	return nil
}

// fail keeps an error that says that the API server is busy or away. That another process was faster, or that there is no lease, is none.
func (l *lease) fail(err error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.failure = err; apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		l.failure = nil
	}
	l.failed = l.now()
}

// RecordEvent implements resourcelock.Interface.
func (l *lease) RecordEvent(what string) {
	about := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.key.Namespace, Name: l.key.Name}}
	l.recorder.Eventf(about, nil, corev1.EventTypeNormal, "LeaderElection", "Elect", "%s %s", l.identity, what)
}

// Identity implements resourcelock.Interface.
func (l *lease) Identity() string { return l.identity }

// Describe implements resourcelock.Interface.
func (l *lease) Describe() string { return l.key.String() }
