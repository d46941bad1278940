package rejections

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"strings"
)

const (
	frameHeader = 9  // the length, in bytes, of a frame header (RFC 9113, 4.1)
	maxPayload  = 64 // the number of payload bytes to examine; net/http's own responses are shorter

	frameData      = 0
	frameRSTStream = 3
	frameGoAway    = 7
)

// Frames finds rejections among the frames that the server sends on an HTTP/2 connection, because net/http reports only some rejections,
// and never identifies the client.
type Frames struct {
	reporter *Reporter
	remote   string

	header  [frameHeader]byte
	payload [maxPayload]byte // the first bytes of the payload
	read    int              // the number of bytes stored in header
	kept    int              // the number of bytes stored in payload
	left    int              // the number of bytes that remain in the frame
}

// NewFrames returns the Frames for a connection from a remote address.
func NewFrames(reporter *Reporter, remote string) *Frames {
	return &Frames{reporter: reporter, remote: remote}
}

// Observe examines the next piece, of any size, of the data that the server sends.
func (f *Frames) Observe(sent []byte) {
	for len(sent) > 0 {
		if f.read < frameHeader {
			n := copy(f.header[f.read:], sent)
			f.read += n
			sent = sent[n:]
			if f.read < frameHeader {
				return
			}
			f.left = int(f.header[0])<<16 | int(f.header[1])<<8 | int(f.header[2])
		}
		piece := sent[:min(f.left, len(sent))]
		f.kept += copy(f.payload[f.kept:], piece)
		f.left -= len(piece)
		sent = sent[len(piece):]
		if f.left == 0 {
			f.end()
			f.read, f.kept = 0, 0
		}
	}
}

// end examines a complete frame.
func (f *Frames) end() {
	payload := f.payload[:f.kept]
	switch kind := f.header[3]; {
	case kind == frameRSTStream && len(payload) >= 4:
		if code := binary.BigEndian.Uint32(payload); isRejection(code) {
			f.reporter.reportError(f.remote, "stream", ReasonHTTP2Stream, code)
		}
	case kind == frameGoAway && len(payload) >= 8:
		if code := binary.BigEndian.Uint32(payload[4:]); code != 0 {
			f.reporter.reportError(f.remote, "conn", ReasonHTTP2Connection, code)
		}
	case kind == frameData:
		if what, ok := responseOf(payload); ok {
			what.Remote, what.Protocol = f.remote, "HTTP/2.0"
			f.reporter.Report(what)
		}
	}
}

// isRejection reports whether an error code means that data from the client caused a stream reset. Other codes are caused by handlers, or
// by frames that arrive after a stream was closed.
func isRejection(code uint32) bool {
	switch errorName(code) {
	case "NO_ERROR", "INTERNAL_ERROR", "STREAM_CLOSED", "CANCEL":
		return false
	}
	return true
}

// responseOf recognizes response bodies that net/http sends instead of calling a handler. A client that makes the server echo such a body
// gains nothing, because it can also send requests that net/http rejects.
func responseOf(body []byte) (what Rejection, ok bool) {
	switch {
	case bytes.HasPrefix(body, []byte(`request header "`)) && bytes.HasSuffix(body, []byte(" in HTTP/2\n")):
		return Rejection{Status: http.StatusBadRequest, Reason: ReasonField, Detail: strings.TrimSpace(string(body))}, true
	case string(body) == "<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>":
		return Rejection{Status: http.StatusRequestHeaderFieldsTooLarge, Reason: reasonHeader, Detail: "the header has too many fields"}, true
	}
	return Rejection{}, false
}

// errorName returns the name of an error code (RFC 9113, 7), as net/http spells it.
func errorName(code uint32) string {
	names := [...]string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
		"FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY",
		"HTTP_1_1_REQUIRED"}
	if code < uint32(len(names)) {
		return names[code]
	}
	return "unknown"
}
