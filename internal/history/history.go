// Package history keeps the latest events and the last reconcile of each Echo in memory for the status API.
//
// No decision depends on this history.
package history

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// maxEvents is the maximum number of events that are kept per Echo.
const maxEvents = 10

// Event is an event that this process sent.
type Event struct {
	Time   time.Time `json:"time"`
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	Note   string    `json:"note"`
}

// Reconcile is the last reconcile of an Echo.
type Reconcile struct {
	Ended    time.Time
	Duration time.Duration
	// Error is empty if the reconcile succeeded.
	Error string
}

// History keeps the latest events and the last reconcile of each Echo. It is safe for concurrent use.
type History struct {
	now func() time.Time

	lock       sync.Mutex
	events     map[types.NamespacedName]eventLog
	reconciles map[types.NamespacedName]Reconcile
}

// eventLog holds the events of one Echo. An Echo with the same name but another UID can be created before the log is dropped.
type eventLog struct {
	uid  types.UID
	last []Event
}

// New returns an empty history that reads the time from a clock.
func New(now func() time.Time) *History {
	return &History{now: now, events: map[types.NamespacedName]eventLog{}, reconciles: map[types.NamespacedName]Reconcile{}}
}

// Events returns the latest events of an Echo, starting with the oldest.
func (h *History) Events(echo types.NamespacedName, uid types.UID) []Event {
	h.lock.Lock()
	defer h.lock.Unlock()
	if log := h.events[echo]; log.uid == uid {
		return slices.Clone(log.last)
	}
	return nil
}

// Reconciles returns the last reconcile of each Echo.
func (h *History) Reconciles() map[types.NamespacedName]Reconcile {
	h.lock.Lock()
	defer h.lock.Unlock()
	return maps.Clone(h.reconciles)
}

// Recorder returns a recorder that sends events through another recorder and keeps the events about Echoes.
func (h *History) Recorder(next events.EventRecorder) events.EventRecorder {
	return &recorder{h, next}
}

type recorder struct {
	history *History
	next    events.EventRecorder
}

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	r.next.Eventf(regarding, related, eventType, reason, action, note, args...)
	if echo, ok := regarding.(*v1.Echo); ok {
		r.history.addEvent(echo, Event{Time: r.history.now(), Type: eventType, Reason: reason, Note: fmt.Sprintf(note, args...)})
	}
}

func (h *History) addEvent(echo *v1.Echo, e Event) {
	key := types.NamespacedName{Namespace: echo.Namespace, Name: echo.Name}
	h.lock.Lock()
	defer h.lock.Unlock()
	log := h.events[key]
	if log.uid != echo.UID {
		log = eventLog{uid: echo.UID}
	}
	log.last = append(log.last, e)
	log.last = slices.Clone(log.last[max(0, len(log.last)-maxEvents):])
	h.events[key] = log
}

// AddReconcile records that a reconcile of an Echo has just finished.
func (h *History) AddReconcile(echo types.NamespacedName, began time.Time, err error) {
	last := Reconcile{Ended: h.now()}
	last.Duration = last.Ended.Sub(began)
	if err != nil {
		last.Error = err.Error()
	}
	h.lock.Lock()
	defer h.lock.Unlock()
	h.reconciles[echo] = last
}

// Forget drops the records of an Echo that no longer exists.
func (h *History) Forget(echo types.NamespacedName) {
	h.lock.Lock()
	defer h.lock.Unlock()
	delete(h.events, echo)
	delete(h.reconciles, echo)
}
