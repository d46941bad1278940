package rejections

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// maxCauses is the maximum number of stored causes whose frames have not been sent yet.
const maxCauses = 64

// causes holds the HTTP/2 errors that net/http has counted but not yet sent. net/http does not report which connection caused an error.
type causes struct {
	mutex   sync.Mutex
	pending []cause // oldest first
}

type cause struct {
	errorType string // as net/http passes it to CountError, such as stream_PROTOCOL_ERROR_bad_path
	counted   time.Time
}

// CountError is the callback for http.HTTP2Config.CountError. net/http calls CountError before sending the frame that reports the error.
func (r *Reporter) CountError(errorType string) {
	r.causes.mutex.Lock()
	defer r.causes.mutex.Unlock()
	r.causes.forget(time.Now())
	if len(r.causes.pending) < maxCauses {
		r.causes.pending = append(r.causes.pending, cause{errorType, time.Now()})
	}
}

// forget drops old causes, whose frames were never sent because the connection was closed.
func (c *causes) forget(now time.Time) {
	c.pending = slices.DeleteFunc(c.pending, func(each cause) bool { return now.Sub(each.counted) > second })
}

// take removes the oldest cause whose type begins with a prefix, and returns the rest of the type, or an empty name if there is no such
// cause. The cause is certain unless several such causes are pending.
func (c *causes) take(prefix string) (name string, certain bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.forget(time.Now())
	first, found := -1, 0
	for i, each := range c.pending {
		if strings.HasPrefix(each.errorType, prefix) {
			found++
			if first < 0 {
				first = i
			}
		}
	}
	if found == 0 {
		return "", true
	}
	name = strings.TrimPrefix(c.pending[first].errorType, prefix)
	c.pending = slices.Delete(c.pending, first, first+1)
	return name, found == 1
}

// reportError reports that a stream was reset, or a connection was closed, because of an error. It uses each counted cause only once, so
// that the counters stay correct. The log omits a cause that may belong to another client.
func (r *Reporter) reportError(remote, kind, reason string, code uint32) {
	name, certain := r.causes.take(kind + "_" + errorName(code) + "_")
	if name == "" {
		name, certain = r.causes.take("frame_")
	}
	counted := reason
	if name == "bad_connect" {
		counted = ReasonHTTP2Connect
	}
	r.count(counted)
	detail := errorName(code)
	switch {
	case !certain:
		counted = reason
	case name == "bad_connect":
		detail += ", bad_connect: CONNECT is not valid, or requests a WebSocket, which requires HTTP/1.1"
	case name != "":
		detail += ", " + name
	case kind == "stream" && code == 1: // only a malformed field has no cause
		detail += ", a field or a pseudo-header is not valid"
	}
	r.write(Rejection{Remote: remote, Protocol: "HTTP/2.0", Reason: counted, Detail: detail})
}
