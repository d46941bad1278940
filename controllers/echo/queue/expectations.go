package queue

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// CacheLag is the maximum time that a reconcile waits for the cache to hold the operator's own writes.
const CacheLag = 10 * time.Second

// Expectations prevents two kinds of unnecessary reconciles. Reconciles that are started by the operator's own writes would have nothing to
// do. Reconciles that start before the cache holds these writes would repeat the writes. The methods of Expectations may be called
// concurrently.
//
// No edit by another client is lost. An event is dropped only if a write by the reconcile returned the object version in the event. The
// reconcile has therefore seen that version: the API server applies a write to the newest version, or rejects the write. Each edit by
// another client creates a new version. Events that arrive during a reconcile are held until the reconcile ends, when the versions of its
// writes are known. Deletion events are never dropped.
type Expectations struct {
	lock sync.Mutex
	of   map[types.NamespacedName]*writes
}

// writes holds the writes of one Echo's reconciles.
type writes struct {
	echo types.UID
	// reconciling is true during a reconcile.
	reconciling bool
	// held lists the events that arrived during the reconcile.
	held []heldEvent
	// awaited lists, for each object, the versions that the cache lacks, oldest first.
	awaited map[types.UID][]string
	// last is the time when the newest awaited version was written.
	last time.Time
	// skipped is true if a reconcile was skipped because of awaited versions.
	skipped bool
}

// heldEvent is an event that has not been delivered yet.
type heldEvent struct {
	objectVersion
	deliver func()
}

// Begin starts an Echo's reconcile and returns zero. If the cache does not hold the writes of an earlier reconcile yet, Begin instead
// returns how long to wait if no event arrives. Writes for an earlier Echo with the same name do not delay the reconcile.
func (o *Expectations) Begin(echo *v1.Echo, now time.Time) time.Duration {
	o.lock.Lock()
	defer o.lock.Unlock()
	key := client.ObjectKeyFromObject(echo)
	w := o.of[key]
	if w == nil || w.echo != echo.UID {
		w = &writes{echo: echo.UID, awaited: map[types.UID][]string{}}
		if o.of == nil {
			o.of = map[types.NamespacedName]*writes{}
		}
		o.of[key] = w
	}
	if wait := w.last.Add(CacheLag).Sub(now); len(w.awaited) > 0 && wait > 0 {
		w.skipped = true
		return wait
	}
	clear(w.awaited)
	w.reconciling, w.skipped = true, false
	return 0
}

// Wrote records that an Echo's reconcile wrote an object. It ignores a write that changed nothing, because such a write causes no event.
// before is nil if the object was created.
func (o *Expectations) Wrote(echo types.NamespacedName, before, after client.Object, now time.Time) {
	written := versionOf(after)
	if versionOf(before) == written {
		return
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	w := o.of[echo]
	if w == nil { // no reconcile has begun
		return
	}
	held := len(w.held)
	w.held = slices.DeleteFunc(w.held, func(e heldEvent) bool { return e.objectVersion == written })
	if len(w.held) == held {
		w.awaited[written.uid], w.last = append(w.awaited[written.uid], written.resourceVersion), now
	}
}

// End records that an Echo's reconcile has ended, and delivers the held events that the reconcile's writes did not cause.
func (o *Expectations) End(echo types.NamespacedName) {
	for _, e := range o.ended(echo) {
		e.deliver()
	}
}

func (o *Expectations) ended(echo types.NamespacedName) []heldEvent {
	o.lock.Lock()
	defer o.lock.Unlock()
	w := o.of[echo]
	if w == nil {
		return nil
	}
	held := w.held
	w.reconciling, w.held = false, nil
	o.release(echo, w)
	return held
}

// release drops an Echo's entry if the entry is empty. The caller must hold the lock.
func (o *Expectations) release(echo types.NamespacedName, w *writes) {
	if !w.reconciling && !w.skipped && len(w.awaited) == 0 {
		delete(o.of, echo)
	}
}

// arrived records that the cache holds a version of an Echo's object. It reports whether to deliver the event now.
func (o *Expectations) arrived(echo types.NamespacedName, object client.Object, deliver func()) bool {
	version := versionOf(object)
	o.lock.Lock()
	defer o.lock.Unlock()
	w := o.of[echo]
	if w == nil {
		return true
	}
	own := w.caughtUp(version)
	due := w.skipped && len(w.awaited) == 0 // the skipped reconcile can now start
	w.skipped = w.skipped && !due
	switch {
	case due:
	case own:
		o.release(echo, w)
		return false
	case w.reconciling:
		w.held = append(w.held, heldEvent{version, deliver})
		return false
	}
	o.release(echo, w)
	return true
}

// caughtUp drops the awaited versions of an object up to the cached version, and reports whether the cached version was awaited. If
// versions cannot be compared, caughtUp drops only the cached version.
func (w *writes) caughtUp(held objectVersion) bool {
	own := slices.Contains(w.awaited[held.uid], held.resourceVersion)
	awaited := slices.DeleteFunc(w.awaited[held.uid], func(version string) bool {
		order, err := resourceversion.CompareResourceVersion(version, held.resourceVersion)
		return version == held.resourceVersion || err == nil && order < 0
	})
	if w.awaited[held.uid] = awaited; len(awaited) == 0 {
		delete(w.awaited, held.uid)
	}
	return own
}

// gone records that the cache no longer holds an Echo's object.
func (o *Expectations) gone(echo types.NamespacedName, object types.UID) {
	o.lock.Lock()
	defer o.lock.Unlock()
	if w := o.of[echo]; w != nil {
		delete(w.awaited, object)
	}
}

// Forget drops the state of an Echo that is gone.
func (o *Expectations) Forget(echo types.NamespacedName) {
	o.lock.Lock()
	defer o.lock.Unlock()
	delete(o.of, echo)
}

// Clear drops the expectations. Events that arrived during a reconcile are still delivered when it ends, because nothing else holds them.
func (o *Expectations) Clear() {
	o.lock.Lock()
	defer o.lock.Unlock()
	for echo, w := range o.of {
		clear(w.awaited)
		w.skipped = false
		o.release(echo, w)
	}
}

type workQueue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Without returns a handler that drops the events caused by the operator's own writes. echoOf returns the name of the Echo that an object
// belongs to, or an empty name.
func (o *Expectations) Without(next handler.EventHandler, echoOf func(client.Object) types.NamespacedName) handler.EventHandler {
	report := func(echo types.NamespacedName, object client.Object, deliver func()) {
		if o.arrived(echo, object, deliver) {
			deliver()
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q workQueue) {
			report(echoOf(e.Object), e.Object, func() { next.Create(ctx, e, q) })
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workQueue) {
			report(cmp.Or(echoOf(e.ObjectNew), echoOf(e.ObjectOld)), e.ObjectNew, func() { next.Update(ctx, e, q) })
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q workQueue) {
			o.gone(echoOf(e.Object), e.Object.GetUID())
			next.Delete(ctx, e, q)
		},
	}
}
