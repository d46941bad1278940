package controllers

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// settled holds, of each Echo, which versions of all objects that a pass depends on a pass found nothing to do for. Until one of them
// changes, or until it is time to look again, another pass would find the same, and is not made. No foreign edit is lost: each gives an
// object another version. Its methods may be called concurrently.
type settled struct {
	lock sync.Mutex
	of   map[types.NamespacedName]*settlement
}

// settlement is what a pass depends on, and whether it found nothing to do.
type settlement struct {
	// inputs are the UIDs and versions of the Echo, its children, its pods and their nodes, as they were before the pass.
	inputs []string
	found  bool
	// until is when to look again, zero if only an event can change something.
	until time.Time
}

// begin says that a pass over an Echo begins.
func (s *settled) begin(echo types.NamespacedName, inputs []string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.of == nil {
		s.of = map[types.NamespacedName]*settlement{}
	}
	s.of[echo] = &settlement{inputs: inputs}
}

// found says that the pass found nothing to do, and when to look again, zero for never. Echoes with TLS or a gateway are left out: they also depend on what the
// cluster requires and offers.
func (s *settled) found(echo *v1.Echo, next time.Duration, now time.Time) {
	s.lock.Lock()
	defer s.lock.Unlock()
	last := s.of[client.ObjectKeyFromObject(echo)]
	if last == nil || children.HasTLS(&echo.Spec) || children.HasGateway(echo) {
		return
	}
	last.found = true
	if next > 0 {
		last.until = now.Add(next)
	}
}

// last returns what the last pass over an Echo depended on, if it found nothing to do and it is not yet time to look again.
func (s *settled) last(echo types.NamespacedName, now time.Time) (settlement, bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	last := s.of[echo]
	if last == nil || !last.found || !last.until.IsZero() && !now.Before(last.until) {
		return settlement{}, false
	}
	return *last, true
}

// forget drops what is held of an Echo that is gone.
func (s *settled) forget(echo types.NamespacedName) {
	s.lock.Lock()
	defer s.lock.Unlock()
	delete(s.of, echo)
}

// clear drops what is held of all Echoes, because something has changed on which passes depend and which is not among their inputs.
func (s *settled) clear() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.of = nil
}

// isSettled reports whether a pass over an Echo would find what the last one found, which was nothing to do. It returns when to look again if
// no event arrives earlier, zero for never. If not, a pass is to be made, which begins.
func (r *EchoReconciler) isSettled(ctx context.Context, echo types.NamespacedName) (time.Duration, bool, error) {
	inputs, err := r.inputs(ctx, echo)
	if err != nil {
		return 0, false, err
	}
	now := r.Now()
	last, found := r.settled.last(echo, now)
	if !found || !slices.Equal(last.inputs, inputs) {
		r.settled.begin(echo, inputs)
		return 0, false, nil
	}
	if last.until.IsZero() {
		return 0, true, nil
	}
	return last.until.Sub(now), true, nil
}

// inputs returns the UIDs and versions of the objects that a pass over an Echo depends on.
func (r *EchoReconciler) inputs(ctx context.Context, echo types.NamespacedName) ([]string, error) {
	inputs := r.Versions(echo)
	list := &corev1.PodList{}
	if err := r.Client.List(ctx, list, client.InNamespace(echo.Namespace), client.MatchingFields{byEcho: echo.Name}); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		pod := &list.Items[i]
		inputs = append(inputs, string(pod.UID), pod.ResourceVersion)
		if pod.Spec.NodeName != "" {
			inputs = append(inputs, r.Versions(types.NamespacedName{Name: pod.Spec.NodeName})...)
		}
	}
	return slices.Clip(inputs), nil
}
