package rejections

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// counted returns a reporter, and the counts of its rejections by reason.
func counted() (*Reporter, map[string]int) {
	counts := map[string]int{}
	return NewReporter(echotest.Quiet(), func(reason string) { counts[reason]++ }), counts
}

// sentFrames returns encoded frames, and the rejections in them.
func sentFrames(t testing.TB) ([]byte, map[string]int) {
	t.Helper()
	var sent bytes.Buffer
	framer := http2.NewFramer(&sent, nil)
	for _, err := range []error{
		framer.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 14}), framer.WriteSettingsAck(),
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("x"), EndHeaders: true}),
		framer.WriteData(1, false, bytes.Repeat([]byte{0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 1}, 100)), // the data looks like RST_STREAM frames
		framer.WriteData(1, true, nil),
		framer.WriteRSTStream(1, http2.ErrCodeNo), framer.WriteRSTStream(3, http2.ErrCodeProtocol),
		framer.WriteRSTStream(5, http2.ErrCodeInternal), framer.WriteRSTStream(7, http2.ErrCodeStreamClosed),
		framer.WriteRSTStream(9, http2.ErrCodeRefusedStream), framer.WriteRSTStream(11, 99),
		framer.WriteData(13, true, []byte("request header \"Upgrade\" is not valid in HTTP/2\n")),
		framer.WriteData(15, true, []byte("request header \"Upgrade\" is not valid in HTTP/2 or so\n")),
		framer.WriteData(17, true, []byte("<h1>HTTP Error 431</h1><p>Request Header Field(s) Too Large</p>")),
		framer.WriteGoAway(13, http2.ErrCodeNo, nil), framer.WriteGoAway(13, http2.ErrCodeFrameSize, []byte("x")),
		framer.WritePing(true, [8]byte{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return sent.Bytes(), map[string]int{ReasonHTTP2Stream: 3, ReasonHTTP2Connection: 1, ReasonField: 1, reasonHeader: 1}
}

func TestFrames_inPieces(t *testing.T) {
	sent, want := sentFrames(t)
	for _, size := range []int{1, 2, 8, 9, 10, 13, 100, len(sent)} {
		reporter, counts := counted()
		frames := NewFrames(reporter, "a:1")
		for rest := sent; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			frames.Observe(rest[:min(size, len(rest))])
		}
		if diff := cmp.Diff(want, counts); diff != "" {
			t.Errorf("in pieces of %d (-want +got):\n%s", size, diff)
		}
	}
}

// FuzzFrames checks that the size of the observed pieces does not affect which rejections are found.
func FuzzFrames(f *testing.F) {
	sent, _ := sentFrames(f)
	f.Add(sent, uint8(3))
	f.Fuzz(func(t *testing.T, sent []byte, size uint8) {
		reporter, whole := counted()
		NewFrames(reporter, "a:1").Observe(sent)
		reporter, cut := counted()
		frames := NewFrames(reporter, "a:1")
		for rest := sent; len(rest) > 0; rest = rest[min(int(size)+1, len(rest)):] {
			frames.Observe(rest[:min(int(size)+1, len(rest))])
		}
		if diff := cmp.Diff(whole, cut); diff != "" {
			t.Errorf("as a whole and in pieces:\n%s", diff)
		}
	})
}

// TestReporter_CountError checks that each of several pending causes is counted once, and is logged only if it is certain.
func TestReporter_CountError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, counts := &echotest.LockedBuffer{}, map[string]int{}
		reporter := NewReporter(slog.New(slog.NewTextHandler(log, nil)), func(reason string) { counts[reason]++ })
		reset := func() string {
			before := len(log.String())
			reporter.reportError("a:1", "stream", ReasonHTTP2Stream, 1)
			return log.String()[before:]
		}
		reporter.CountError("stream_PROTOCOL_ERROR_bad_connect")
		if got := reset(); !strings.Contains(got, "reason=http2_connect") || !strings.Contains(got, "bad_connect: ") {
			t.Errorf("one cause: %s", got)
		}
		reporter.CountError("stream_PROTOCOL_ERROR_bad_connect")
		reporter.CountError("conn_PROTOCOL_ERROR_headers_even")
		reporter.CountError("stream_PROTOCOL_ERROR_bad_path")
		if got := reset(); !strings.Contains(got, "reason=http2_stream detail=PROTOCOL_ERROR\n") {
			t.Errorf("two causes: %s", got)
		}
		if got := reset(); !strings.Contains(got, `detail="PROTOCOL_ERROR, bad_path"`) {
			t.Errorf("the other cause: %s", got)
		}
		if got := reset(); !strings.Contains(got, "a field or a pseudo-header") {
			t.Errorf("no cause: %s", got)
		}
		reporter.CountError("stream_PROTOCOL_ERROR_bad_connect") // the frame for this error is never sent
		<-time.After(second + 1)
		if got := reset(); !strings.Contains(got, "a field or a pseudo-header") {
			t.Errorf("an old cause: %s", got)
		}
		if diff := cmp.Diff(map[string]int{ReasonHTTP2Connect: 2, ReasonHTTP2Stream: 3}, counts); diff != "" {
			t.Errorf("the counts (-want +got):\n%s", diff)
		}
		for range 10 * maxCauses {
			reporter.CountError("stream_CANCEL_x")
		}
		if got := len(reporter.causes.pending); got != maxCauses {
			t.Errorf("%d causes are kept", got)
		}
	})
}
