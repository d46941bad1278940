package apiserver

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// stream is a watch between the API server and the operator.
type stream struct {
	codec codec
	from  io.ReadCloser
	to    *io.PipeWriter
	// kept is an event to send after the next event.
	kept   []byte
	once   sync.Once
	closed chan struct{}
}

// run forwards frames until either side closes the stream or a handler ends it.
func (s *stream) run(handle func(*stream, []byte) bool, before [][]byte) {
	defer s.end()
	for _, frame := range before {
		if !s.send(frame) {
			return
		}
	}
	next := s.codec.frames(s.from)
	for {
		frame, err := next()
		if err != nil {
			s.to.CloseWithError(err)
			return
		}
		if !handle(s, frame) {
			return
		}
	}
}

func (s *stream) end() {
	s.once.Do(func() {
		close(s.closed)
		s.from.Close() //nolint:errcheck // it is only read
		s.to.Close()   //nolint:errcheck // it never fails
	})
}

func (s *stream) send(frame []byte) bool {
	_, err := s.to.Write(s.codec.framed(frame))
	return err == nil
}

func (s *stream) sendEvent(event watchEvent) bool {
	frame, err := s.codec.encode(event)
	return err == nil && s.send(frame)
}

// sendKept sends the kept event, if any.
func (s *stream) sendKept() bool {
	frame := s.kept
	s.kept = nil
	return frame == nil || s.send(frame)
}

// sendHalf sends half of a frame, and then breaks the connection.
func (s *stream) sendHalf(frame []byte) bool {
	whole := s.codec.framed(frame)
	if _, err := s.to.Write(whole[:len(whole)/2]); err == nil {
		s.to.CloseWithError(io.ErrUnexpectedEOF)
	}
	return false
}

// wait waits for a duration, or until the stream ends.
func (s *stream) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.closed:
	}
}

type streamBody struct {
	io.Reader
	stream *stream
}

// Close implements io.Closer.
func (b *streamBody) Close() error {
	b.stream.end()
	return nil
}

// past is the history that a kind's watches have reported since the first list.
type past struct {
	// end is the bookmark at the end of the first, empty list.
	end     *watchEvent
	version string
	events  []watchEvent
}

// mark records the bookmark at the end of the first list.
func (p *past) mark(event watchEvent) {
	if p.end != nil {
		return
	}
	if o, err := meta.Accessor(event.object); err == nil {
		p.end, p.version = &event, o.GetResourceVersion()
	}
}

func (p *past) add(event watchEvent) { p.events = append(p.events, event) }

// back returns the objects and the list's resource version as they were the given number of events ago.
func (p *past) back(count int) (map[string]runtime.Object, string) {
	objects, version := map[string]runtime.Object{}, p.version
	for _, event := range p.events[:max(0, len(p.events)-count)] {
		o, err := meta.Accessor(event.object)
		if err != nil {
			continue
		}
		version = o.GetResourceVersion()
		if event.kind == watch.Deleted {
			delete(objects, o.GetName())
		} else {
			objects[o.GetName()] = event.object
		}
	}
	return objects, version
}

// oldList responds to a list request with the state before the last events, and continues the watch from that state, as an API server with
// an outdated cache does.
func (t *tamperer) oldList(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	t.lock.Lock()
	objects, version := t.past.back(t.back)
	like := t.past.end.object
	t.back = 0
	t.lock.Unlock()
	request := r.Clone(r.Context())
	query := request.URL.Query()
	query.Del("sendInitialEvents")
	query.Del("resourceVersionMatch")
	query.Set("resourceVersion", version)
	request.URL.RawQuery = query.Encode()
	got, err := next.RoundTrip(request)
	if err != nil || got.StatusCode != http.StatusOK {
		return got, err
	}
	frames, err := initialEvents(newCodec(t.scheme, got), objects, like, version)
	if err != nil {
		return nil, errors.Join(err, got.Body.Close())
	}
	return t.carry(got, frames), nil
}

// initialEvents returns the frames for a list of objects.
func initialEvents(c codec, objects map[string]runtime.Object, like runtime.Object, version string) ([][]byte, error) {
	var frames [][]byte
	for _, o := range objects {
		frame, err := c.encode(watchEvent{watch.Added, o})
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame)
	}
	end, err := initialEnd(like, version)
	if err != nil {
		return nil, err
	}
	frame, err := c.encode(end)
	return append(frames, frame), err
}
