package reliability

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is the response to a watch. The simulation determines when the stream delivers the next change.
type stream struct {
	resource string
	selector selector
	// ended is closed when the request is canceled, and cut is true after the API server has ended the response.
	ended <-chan struct{}
	cut   atomic.Bool
	// next is the log position of the next change to any resource.
	next int
	// lines contains what the client has not read yet. A nil line ends the response.
	lines chan []byte
	rest  []byte // the unread rest of a line
	read  bool   // whether the end has been read; decoders may read again after it
	// kept is an event to send after the next event.
	kept []byte
}

// maxLines limits the number of lines that a stream buffers.
const maxLines = 1000

// watch opens a stream. The stream starts with the current objects, or with older objects if the watch is held back or its list is
// outdated. If the client continues an earlier watch, the stream starts with the changes since then.
func (c connection) watch(to call) (*http.Response, error) {
	which, err := selectorOf(to)
	utilruntime.Must(err)
	query := to.URL.Query()
	s := &stream{resource: to.resource, selector: which, ended: to.Context().Done(), lines: make(chan []byte, maxLines)}
	since, err := strconv.Atoi(query.Get("resourceVersion"))
	if err == nil && since > 0 && query.Get("sendInitialEvents") != "true" {
		if c.faults.expire(to.resource) {
			return respond(to.Request, nil, apierrors.NewResourceExpired("too old resource version"))
		}
		s.next = since
	} else {
		s.next = c.known(to.resource)
		for _, object := range c.at(s.next, to.resource) {
			if which.matches(object) {
				s.lines <- event(watch.Added, object)
			}
		}
		k := kinds[to.resource]
		s.lines <- event(watch.Bookmark, &unstructured.Unstructured{Object: map[string]any{"kind": k.kind,
			"apiVersion": k.gvk().GroupVersion().String(), "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.next),
				"annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"}}}})
	}
	c.hear()
	c.process.add(s)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: s,
		Request: to.Request}, nil
}

// at returns a resource's objects as they were after the given number of changes.
func (s *store) at(changes int, resource string) map[objectKey]*unstructured.Unstructured {
	s.lock.Lock()
	defer s.lock.Unlock()
	objects := map[objectKey]*unstructured.Unstructured{}
	for _, change := range s.log[:changes] {
		if change.resource == resource {
			objects[change.objectKey] = change.after
		}
	}
	return objects
}

// pending reports whether there is a change that the stream can send and that is not held back.
func (s *stream) pending(log []change, known int) bool {
	for s.next < known {
		if log[s.next].resource == s.resource && (s.selector.matches(log[s.next].before) || s.selector.matches(log[s.next].after)) {
			return true
		}
		s.next++
	}
	return false
}

// deliver sends the next change to the client, or tampers with it.
func (s *stream) deliver(log []change, i *injector) {
	next := log[s.next]
	s.next++
	line := []byte(nil)
	before, after := s.selector.matches(next.before), s.selector.matches(next.after)
	switch {
	case before && after:
		line = event(watch.Modified, next.after)
	case after:
		line = event(watch.Added, next.after)
	default:
		last := next.before.DeepCopy()
		last.SetResourceVersion(strconv.Itoa(s.next))
		line = event(watch.Deleted, last)
	}
	if how := i.strike(s, log[:s.next]); how != nil {
		how.apply(s, line)
		return
	}
	s.lines <- line
	if s.kept != nil {
		s.lines <- s.kept
		s.kept = nil
	}
}

// event returns an event as the API server sends it.
func event(what watch.EventType, object *unstructured.Unstructured) []byte {
	line, err := json.Marshal(map[string]any{"type": what, "object": object.Object})
	utilruntime.Must(err)
	return append(line, '\n')
}

// end ends the response, as if the connection had been closed.
func (s *stream) end() {
	s.cut.Store(true)
	s.lines <- nil
}

// over reports whether the response or the request has ended.
func (s *stream) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return s.cut.Load()
	}
}

// Read returns content that was sent. If there is none, Read waits for content until the request is canceled.
func (s *stream) Read(into []byte) (int, error) {
	if s.read {
		return 0, io.EOF
	}
	if len(s.rest) == 0 {
		select {
		case s.rest = <-s.lines:
			if s.rest == nil {
				s.read = true
				return 0, io.EOF
			}
		case <-s.ended:
			return 0, io.EOF
		}
	}
	n := copy(into, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close does nothing, because the stream stops when its request is canceled.
func (s *stream) Close() error { return nil }
