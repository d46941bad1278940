package apiserver

import (
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// held is how long an event is held back.
const held = 300 * time.Millisecond

// tampering is a change to an event between the API server and the operator.
type tampering struct {
	name string
	// late is true if the operator might not notice a change until its next list request.
	late bool
	// apply sends the event, a replacement, or nothing. It returns false to end the stream.
	apply func(*stream, []byte) bool
	// expires is true if the next watch request gets a 410 response.
	expires bool
	// back is how many events the next list lags behind the operator's state.
	back int
}

func tamperings() []tampering {
	return []tampering{
		{name: "dropped", late: true, apply: func(*stream, []byte) bool { return true }},
		{name: "delayed", apply: func(s *stream, frame []byte) bool {
			s.wait(held)
			return s.send(frame)
		}},
		{name: "sent twice", apply: func(s *stream, frame []byte) bool {
			s.kept = frame
			return s.send(frame) && s.sendKept()
		}},
		{name: "sent after the next one", late: true, apply: func(s *stream, frame []byte) bool {
			s.kept = frame
			return true
		}},
		{name: "cut off in the middle", apply: func(s *stream, frame []byte) bool { return s.sendHalf(frame) }},
		{name: "lost, next watch rejected with 410", expires: true, apply: func(*stream, []byte) bool { return false }},
		{name: "replaced by a 410 error", apply: func(s *stream, _ []byte) bool { return s.sendEvent(expired()) && false }},
		{name: "lost, followed by an old list", expires: true, back: 2, apply: func(*stream, []byte) bool { return false }},
		{name: "lost, followed by an empty list", expires: true, back: math.MaxInt, apply: func(*stream, []byte) bool { return false }},
	}
}

// tamperer tampers with one event in a kind's watches.
type tamperer struct {
	tampering
	scheme   *runtime.Scheme
	resource string
	// at is the number of the event to tamper with, starting from 1. If at is 0, the tamperer only counts events.
	at int

	lock    sync.Mutex
	seen    int
	hit     bool
	expired int
	past    past
	streams []*stream
}

// watched sends a list or watch request, and may tamper with the response.
func (t *tamperer) watched(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	isOther := strings.Contains(r.URL.Query().Get("labelSelector"), v1.CompanionLabel) // the operator watches pods twice
	if !strings.HasSuffix(r.URL.Path, "/"+t.resource) || isOther {
		return next.RoundTrip(r)
	}
	initial := r.URL.Query().Get("sendInitialEvents") == "true"
	t.lock.Lock()
	expired, old := t.expired > 0 && !initial, t.back > 0 && t.hit && initial && t.past.end != nil
	if expired {
		t.expired--
	}
	t.lock.Unlock()
	if expired {
		return expiredAnswer(r), nil
	}
	if old {
		return t.oldList(next, r)
	}
	got, err := next.RoundTrip(r)
	if err != nil || got.StatusCode != http.StatusOK {
		return got, err
	}
	return t.carry(got, nil), nil
}

// carry returns a response whose body starts with the given frames and continues with the watch's events, which may be tampered with.
func (t *tamperer) carry(got *http.Response, before [][]byte) *http.Response {
	reader, writer := io.Pipe()
	s := &stream{codec: newCodec(t.scheme, got), from: got.Body, to: writer, closed: make(chan struct{})}
	t.lock.Lock()
	t.streams = append(t.streams, s)
	t.lock.Unlock()
	changed := *got
	changed.Body = &streamBody{reader, s}
	go s.run(t.handle, before)
	return &changed
}

// handle sends a frame on a stream, or tampers with it. It returns false to end the stream.
func (t *tamperer) handle(s *stream, frame []byte) bool {
	event, err := s.codec.decode(frame)
	if err != nil || event.kind == watch.Error {
		return s.send(frame)
	}
	if event.kind == watch.Bookmark {
		t.lock.Lock()
		t.past.mark(event)
		t.lock.Unlock()
		return s.send(frame)
	}
	t.lock.Lock()
	if t.past.end == nil { // until the first list is complete, there are no events to count
		t.lock.Unlock()
		return s.send(frame)
	}
	t.seen++
	now := t.seen == t.at
	if now {
		t.hit = true
		if t.expires {
			t.expired++
		}
	}
	t.past.add(event)
	t.lock.Unlock()
	if now {
		return t.apply(s, frame)
	}
	return s.send(frame) && s.sendKept()
}

// heal makes the operator list the objects again.
func (t *tamperer) heal() {
	t.lock.Lock()
	defer t.lock.Unlock()
	t.late = false
	t.expired++
	for _, s := range t.streams {
		s.end()
	}
}

// needsHealing reports whether the operator may have missed a change.
func (t *tamperer) needsHealing() bool {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.late && t.hit
}

// counted returns the number of events seen, and whether one of them was tampered with.
func (t *tamperer) counted() (int, bool) {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.seen, t.hit
}
