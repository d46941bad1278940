package controllers

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

// maxEvents is how many events of each Echo a journal keeps.
const maxEvents = 10

// Event is an event that this process sent.
type Event struct {
	Time   time.Time `json:"time"`
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	Note   string    `json:"note"`
}

// Pass is how the last pass over an Echo went.
type Pass struct {
	// Ended is when, and Took for how long it ran.
	Ended time.Time
	Took  time.Duration
	// Error is what the pass failed with, empty if it did not.
	Error string
}

// Journal remembers, for people who look into this process, what it did about each Echo: the last maxEvents events that it sent,
// and its last pass. What is remembered of an Echo is forgotten when the Echo is gone. Nothing is decided by it.
type Journal struct {
	// Now is the clock. It is required.
	Now func() time.Time

	lock   sync.Mutex
	events map[types.NamespacedName]eventLog
	passes map[types.NamespacedName]Pass
}

// eventLog are the events of one Echo. Another may take its name before it is forgotten.
type eventLog struct {
	uid  types.UID
	last []Event
}

// Events are the last events that this process sent of an Echo, the oldest first.
func (j *Journal) Events(echo types.NamespacedName, uid types.UID) []Event {
	j.lock.Lock()
	defer j.lock.Unlock()
	if log := j.events[echo]; log.uid == uid {
		return slices.Clone(log.last)
	}
	return nil
}

// Passes are the last passes over all Echoes.
func (j *Journal) Passes() map[types.NamespacedName]Pass {
	j.lock.Lock()
	defer j.lock.Unlock()
	return maps.Clone(j.passes)
}

// Recorder sends events by another recorder and keeps those of Echoes.
func (j *Journal) Recorder(next events.EventRecorder) events.EventRecorder {
	return &journalist{j, next}
}

type journalist struct {
	journal *Journal
	next    events.EventRecorder
}

// Eventf implements events.EventRecorder.
func (r *journalist) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	r.next.Eventf(regarding, related, eventType, reason, action, note, args...)
	if echo, ok := regarding.(*v1.Echo); ok {
		r.journal.noteEvent(echo, Event{Time: r.journal.Now(), Type: eventType, Reason: reason, Note: fmt.Sprintf(note, args...)})
	}
}

func (j *Journal) noteEvent(echo *v1.Echo, e Event) {
	key := types.NamespacedName{Namespace: echo.Namespace, Name: echo.Name}
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.events == nil {
		j.events = map[types.NamespacedName]eventLog{}
	}
	log := j.events[key]
	if log.uid != echo.UID {
		log = eventLog{uid: echo.UID}
	}
	log.last = append(log.last, e)
	log.last = slices.Clone(log.last[max(0, len(log.last)-maxEvents):])
	j.events[key] = log
}

// notePass notes how a pass ended that began at a time.
func (j *Journal) notePass(echo types.NamespacedName, begun time.Time, err error) {
	pass := Pass{Ended: j.Now()}
	pass.Took = pass.Ended.Sub(begun)
	if err != nil {
		pass.Error = err.Error()
	}
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.passes == nil {
		j.passes = map[types.NamespacedName]Pass{}
	}
	j.passes[echo] = pass
}

// forget forgets an Echo that is gone.
func (j *Journal) forget(echo types.NamespacedName) {
	j.lock.Lock()
	defer j.lock.Unlock()
	delete(j.events, echo)
	delete(j.passes, echo)
}
