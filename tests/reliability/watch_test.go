package reliability

import (
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is the response to a watch. The simulation determines when the stream delivers the next change.
type stream struct {
	resource string
	selector selector
	// ended is closed when the request is canceled.
	ended <-chan struct{}
	// next is the log position of the next change to any resource.
	next  int
	lines chan []byte
	rest  []byte // the unread rest of a line
}

// maxLines limits the number of lines that a stream buffers.
const maxLines = 1000

// watch opens a stream. The stream starts with the current objects, or with older objects if the watch is held back.
func (c connection) watch(to call) *http.Response {
	which, err := selectorOf(to)
	utilruntime.Must(err)
	s := &stream{resource: to.resource, selector: which, ended: to.Context().Done(), lines: make(chan []byte, maxLines)}
	s.next = c.known(to.resource)
	for _, object := range c.at(s.next, to.resource) {
		if which.matches(object) {
			s.send(watch.Added, object)
		}
	}
	k := kinds[to.resource]
	s.send(watch.Bookmark, &unstructured.Unstructured{Object: map[string]any{"kind": k.kind, "apiVersion": k.gvk().GroupVersion().String(),
		"metadata": map[string]any{"resourceVersion": "1", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"}}}})
	c.process.add(s)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: s, Request: to.Request}
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

// deliver sends the next change to the client.
func (s *stream) deliver(log []change) {
	next := log[s.next]
	s.next++
	before, after := s.selector.matches(next.before), s.selector.matches(next.after)
	switch {
	case before && after:
		s.send(watch.Modified, next.after)
	case after:
		s.send(watch.Added, next.after)
	default:
		s.send(watch.Deleted, next.before)
	}
}

func (s *stream) send(what watch.EventType, object *unstructured.Unstructured) {
	line, err := json.Marshal(map[string]any{"type": what, "object": object.Object})
	utilruntime.Must(err)
	s.lines <- append(line, '\n')
}

// over reports whether the request has been canceled.
func (s *stream) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// Read returns content that was sent. If there is none, Read waits for content until the request is canceled.
func (s *stream) Read(into []byte) (int, error) {
	if len(s.rest) == 0 {
		select {
		case s.rest = <-s.lines:
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
