package operator

import (
	"context"
	"errors"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// lockTimeout limits a request for the lease to half of the renew deadline, so that one lost response never costs a leader its lease.
	lockTimeout = 5 * time.Second
	// releaseTimeout limits the two requests that release the lease.
	releaseTimeout = 3 * time.Second
)

var errNoLeaseNamespace = errors.New("the namespace of the lease is unknown: outside a cluster, set --leader-election-namespace")

// newLock returns client-go's lock on the lease in a namespace, with an identity that is unique to this process. controller-runtime's lock
// would not reveal the identity.
func newLock(cluster *rest.Config, namespace string) (resourcelock.Interface, error) {
	if namespace == "" {
		return nil, errNoLeaseNamespace
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	quick := rest.CopyConfig(cluster)
	quick.Timeout = lockTimeout
	leases, err := coordinationclient.NewForConfig(quick)
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: leaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, err
}

// releaseLease releases the lease after all runnables have stopped, so that another replica does not have to wait until the lease expires.
func (o *Operator) releaseLease(ctx context.Context) {
	if o.lock == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := release(ctx, o.lock); err != nil {
		ctrl.Log.Error(err, "The lease was not released. Another replica becomes the leader when the lease expires.")
	}
}

// release releases the lease if the lock still holds it. The API server rejects the update if another client has changed the lease since
// the lock read it.
func release(ctx context.Context, lock resourcelock.Interface) error {
	held, _, err := lock.Get(ctx)
	if err != nil || held.HolderIdentity != lock.Identity() {
		return client.IgnoreNotFound(err)
	}
	now := metav1.Now()
	return lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaseDurationSeconds: 1, LeaderTransitions: held.LeaderTransitions, AcquireTime: now, RenewTime: now,
	})
}
