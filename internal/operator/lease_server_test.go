package operator

import (
	"context"
	"errors"
	"strconv"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/util/retry"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// leaseServer is an API server with one lease.
type leaseServer struct {
	coordinationclient.LeaseInterface
	lock     sync.Mutex
	stored   *coordinationv1.Lease
	version  int
	requests int
	away     error // of all requests, nil while the server answers
	readOnly error // of writes, nil while the server takes them
	watching []*lease
}

func (s *leaseServer) Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.requests++
	if s.away != nil {
		return nil, s.away
	}
	if s.stored == nil {
		return nil, apierrors.NewNotFound(leases, leaseName)
	}
	return s.stored.DeepCopy(), nil
}

func (s *leaseServer) Create(_ context.Context, made *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return s.write(made, func() bool { return s.stored == nil })
}

func (s *leaseServer) Update(_ context.Context, changed *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return s.write(changed, func() bool { return s.stored != nil && s.stored.ResourceVersion == changed.ResourceVersion })
}

func (s *leaseServer) write(changed *coordinationv1.Lease, allowed func() bool) (*coordinationv1.Lease, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.requests++
	switch {
	case s.away != nil:
		return nil, s.away
	case s.readOnly != nil:
		return nil, s.readOnly
	case !allowed():
		return nil, apierrors.NewConflict(leases, leaseName, errors.New("another version"))
	}
	s.version++
	s.stored = changed.DeepCopy()
	s.stored.ResourceVersion = strconv.Itoa(s.version)
	for _, l := range s.watching {
		l.saw(s.stored.DeepCopy())
	}
	return s.stored.DeepCopy(), nil
}

// current returns the lease, nil if there is none.
func (s *leaseServer) current() *coordinationv1.Lease {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.stored.DeepCopy()
}

// received returns how many requests there were.
func (s *leaseServer) received() int {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.requests
}

// annotate edits the lease as others do: the leader may renew it between the read and the update.
func (s *leaseServer) annotate(ctx context.Context, key, value string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		edited, err := s.Get(ctx, leaseName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&edited.ObjectMeta, key, value)
		_, err = s.Update(ctx, edited, metav1.UpdateOptions{})
		return err
	})
}
