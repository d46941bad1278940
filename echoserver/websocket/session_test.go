package websocket

import (
	"fmt"
	"io"
	"testing"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
)

func TestCloseFor(t *testing.T) {
	for _, c := range []struct {
		err   error
		code  websocket.StatusCode
		limit string
	}{
		{websocket.ErrMessageTooBig, websocket.StatusMessageTooBig, LimitMessage},
		{exchange.ErrOverBudget, websocket.StatusTryAgainLater, transport.LimitMemory},
		{errNotUTF8, websocket.StatusInvalidFramePayloadData, ""},
		{io.ErrUnexpectedEOF, websocket.StatusProtocolError, ""},
		{websocket.CloseError{Code: websocket.StatusMessageTooBig}, websocket.StatusProtocolError, ""}, // the library has already responded
		{websocket.CloseError{Code: websocket.StatusTryAgainLater}, websocket.StatusProtocolError, ""},
	} {
		code, reason, limit := closeFor(fmt.Errorf("reading: %w", c.err))
		if code != c.code || limit != c.limit || len(reason) > 123 {
			t.Errorf("%v: closes with %d %q and counts %q, want %d and %q", c.err, code, reason, limit, c.code, c.limit)
		}
	}
}

// TestUTF8Stream splits each text into three parts, at all possible positions. The parts must be accepted if and only if the whole text is
// valid UTF-8.
func TestUTF8Stream(t *testing.T) {
	// valid strings with characters of each encoded length, and then invalid strings
	for _, text := range []string{"", "a", "\u00b5@\u00df", "\u03ba\u1f79", "\ud7ff\ue000\ufffd", "\U0001f600\U0010ffff",
		"\x80", "\xc0\xaf", "\xc2A", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82A", "\xe2\x82\xc2\xa2", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80\x80", "\xff", "\xce", "ok\xe1\xbd", "\xf0\x9f\x98"} {
		for first := range len(text) + 1 {
			for second := range len(text) - first + 1 {
				second += first
				var stream utf8Stream
				got := stream.add([]byte(text[:first])) && stream.add([]byte(text[first:second])) && stream.add([]byte(text[second:])) &&
					stream.complete()
				if got != utf8.ValidString(text) {
					t.Errorf("%q cut at %d and %d: it is UTF-8: %t", text, first, second, got)
				}
			}
		}
	}
}

// TestUTF8Stream_early checks that text is rejected as soon as it can no longer be valid UTF-8.
func TestUTF8Stream_early(t *testing.T) {
	for text, want := range map[string]bool{"\xf0\x9f\x98": true, "\xf0\x80": false, "\xed\xa0": false, "\xe2\x82A": false, "\xf5": false} {
		for cut := range len(text) {
			var stream utf8Stream
			if got := stream.add([]byte(text[:cut])) && stream.add([]byte(text[cut:])); got != want {
				t.Errorf("%q cut at %d: it can become UTF-8: %t", text, cut, got)
			}
		}
	}
}
