package server

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// streamWriter is a response writer that supports streaming and records the deadlines set on it.
type streamWriter struct {
	*httptest.ResponseRecorder
	duplex, deadline, write error // the errors that the methods return
	reads, writes           []time.Time
}

func newStreamWriter() *streamWriter {
	return &streamWriter{ResponseRecorder: httptest.NewRecorder()}
}

func (w *streamWriter) EnableFullDuplex() error { return w.duplex }

func (w *streamWriter) SetReadDeadline(deadline time.Time) error {
	w.reads = append(w.reads, deadline)
	return w.deadline
}

func (w *streamWriter) SetWriteDeadline(deadline time.Time) error {
	w.writes = append(w.writes, deadline)
	return w.deadline
}

func (w *streamWriter) Write(data []byte) (int, error) {
	if w.write != nil {
		return 0, w.write
	}
	return w.ResponseRecorder.Write(data)
}

// isAbort reports whether a recovered value is http.ErrAbortHandler, with which handlers abort a response.
func isAbort(recovered any) bool {
	err, ok := recovered.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// streamed sends a body to /-/body, and reports whether the response was aborted.
func streamed(h *handler, w http.ResponseWriter, body io.Reader, length int64) (aborted bool) {
	defer func() { aborted = isAbort(recover()) }()
	r := httptest.NewRequest(http.MethodPost, "/-/body", body)
	r.ContentLength = length
	h.ServeHTTP(w, r)
	return false
}

func TestStreamBody(t *testing.T) {
	broken := errors.New("broken")
	type result struct {
		Status   int
		Body     string
		Length   string
		Aborted  bool
		TooLarge int
	}
	const refusal = "echo-server: the body is larger than 1073741824 bytes\n"
	large := echotest.Payload(3*streamBuffer + 1)
	for name, c := range map[string]struct {
		writer streamWriter
		body   io.Reader
		length int64
		want   result
	}{
		"announced":         {body: strings.NewReader("hello"), length: 5, want: result{Status: 200, Body: "hello", Length: "5"}},
		"of unknown length": {body: strings.NewReader("hello"), length: -1, want: result{Status: 200, Body: "hello"}},
		"empty":             {body: http.NoBody, want: result{Status: 200, Length: "0"}},
		"several pieces":    {body: strings.NewReader(large), length: -1, want: result{Status: 200, Body: large}},
		"single bytes": {body: iotest.OneByteReader(strings.NewReader("hello")), length: -1,
			want: result{Status: 200, Body: "hello"}},
		"the end with the last piece": {body: iotest.DataErrReader(strings.NewReader("hello")), length: -1,
			want: result{Status: 200, Body: "hello"}},
		"announced with the limit": {body: strings.NewReader("x"), length: maxStreamed,
			want: result{Status: 200, Body: "x", Length: "1073741824"}},
		"announced over the limit": {body: strings.NewReader("x"), length: maxStreamed + 1,
			want: result{Status: 413, Body: refusal, TooLarge: 1}},
		"breaks off": {body: io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(broken)), length: 5,
			want: result{Status: 200, Body: "hel", Length: "5", Aborted: true}},
		"the client does not read": {writer: streamWriter{write: broken}, body: strings.NewReader("hello"), length: 5,
			want: result{Status: 200, Length: "5", Aborted: true}},
		"deadlines cannot be set": {writer: streamWriter{deadline: broken}, body: strings.NewReader("hello"), length: 5,
			want: result{Status: 200, Length: "5", Aborted: true}},
		"HTTP/2 has no duplex setting": {writer: streamWriter{duplex: http.ErrNotSupported}, body: strings.NewReader("hello"), length: 5,
			want: result{Status: 200, Body: "hello", Length: "5"}},
		"no duplex": {writer: streamWriter{duplex: broken}, body: strings.NewReader("hello"), length: 5,
			want: result{Status: 500, Body: "echo-server: the connection cannot read and write at the same time\n"}},
	} {
		h, w := handlerOf(t), &c.writer
		w.ResponseRecorder = httptest.NewRecorder()
		got := result{Aborted: streamed(h, w, c.body, c.length)}
		got.Status, got.Body, got.Length, got.TooLarge = w.Code, w.Body.String(), w.Header().Get("Content-Length"), counted(h.metrics.rejected,
			limitBody)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if wantType := map[bool]string{true: "application/octet-stream",
			false: transport.PlainText}[got.Status == 200]; w.Header().Get("Content-Type") != wantType {
			t.Errorf("%s: the type is %s", name, w.Header().Get("Content-Type"))
		}
	}
}

// slowReader returns one byte at a time, each after a pause.
type slowReader struct{ pauses []time.Duration }

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.pauses) == 0 {
		return 0, io.EOF
	}
	<-time.After(r.pauses[0])
	r.pauses = r.pauses[1:]
	p[0] = 'x'
	return 1, nil
}

// TestCopyStream_extendsDeadlinesWithEachPiece checks that the time limit applies to each piece, in both directions, and not to the whole
// stream, because a slow stream may take hours.
func TestCopyStream_extendsDeadlinesWithEachPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, began := newStreamWriter(), time.Now()
		if streamed(handlerOf(t), w, &slowReader{[]time.Duration{exchange.StallTimeout - 1, exchange.StallTimeout, time.Second}}, -1) {
			t.Error("it was aborted")
		}
		want := []time.Time{began.Add(exchange.StallTimeout), began.Add(2*exchange.StallTimeout - 1), began.Add(3*exchange.StallTimeout - 1),
			began.Add(3*exchange.StallTimeout - 1 + time.Second)}
		if diff := cmp.Diff(want, w.reads); diff != "" {
			t.Errorf("the deadlines for reading (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(w.reads, w.writes); diff != "" {
			t.Errorf("the deadlines for reading and writing differ (-reading +writing):\n%s", diff)
		}
	})
}

// TestStreamBody_keepsConnectionAfterChunkedBody checks that a stream of unknown length is echoed completely, and leaves the connection
// reusable.
func TestStreamBody_keepsConnectionAfterChunkedBody(t *testing.T) {
	got := echotest.Exchanged(t, echotest.Dial(t, serve(t, handlerOf(t)).URL),
		"POST /-/body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"+
			"5\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 7\r\n\r\nGET /-/livez HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	reader := bufio.NewReader(strings.NewReader(got))
	for _, want := range []string{"hello world", "ok\n"} {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatalf("%v in %q", err, got)
		}
		data, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || string(data) != want || len(response.Trailer) > 0 {
			t.Errorf("the response is %d %q with the trailer %v, %v; want %q", response.StatusCode, data, response.Trailer, err, want)
		}
	}
	if rest, err := io.ReadAll(reader); err != nil || len(rest) > 0 {
		t.Errorf("after the responses comes %q, %v", rest, err)
	}
}

// TestDigestStream requests digests of bodies instead of the bodies.
func TestDigestStream(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		for query, size := range map[string]int{"digest": 0, "digest=": 1, "digest&tenant=a": 2, "tenant=a&digest": 10 << 20} {
			got := echotest.Send(t, client, http.MethodPost, server.URL+"/shop/-/body?"+query, echotest.Payload(size))
			if want := fmt.Sprintf("%d %x\n", size, sha256.Sum256([]byte(echotest.Payload(size)))); got.StatusCode != http.StatusOK ||
				got.Text != want {
				t.Errorf("%s, %s, %d bytes: %s, %.100q", proto, query, size, got.Status, got.Text)
			}
		}
	}
}

// TestExchange_supportsResponseController checks that a response controller can use features of the underlying writer, such as deadlines.
func TestExchange_supportsResponseController(t *testing.T) {
	w := newStreamWriter()
	e := exchange.New(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	deadline := time.Now()
	if err := http.NewResponseController(e).SetReadDeadline(deadline); err != nil || len(w.reads) != 1 || !w.reads[0].Equal(deadline) {
		t.Errorf("the deadlines are %v, %v", w.reads, err)
	}
}

func TestEvents(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.events(exchange.New(w, r), r, time.Millisecond)
	}))
	for proto, client := range echotest.Clients(t) {
		lines := bufio.NewScanner(echotest.Open(t, client, http.MethodGet, server.URL, http.NoBody).Body)
		for number := 1; number <= 3; number++ {
			for _, want := range []string{fmt.Sprintf("id: %d", number), fmt.Sprintf(`data: {"number":%d,"time":"`, number), ""} {
				if !lines.Scan() || !strings.HasPrefix(lines.Text(), want) {
					t.Fatalf("%s: got %q, want %q", proto, lines.Text(), want)
				}
			}
		}
	}
}

func TestFirstEvent(t *testing.T) {
	for lastID, want := range map[string]int64{
		"": 1, "0": 1, "1": 2, "41": 42, "4503599627370495": 4503599627370496,
		"4503599627370496": 1, "99999999999999999999": 1, "-1": 1, "+1": 1, "1.5": 1, "x": 1,
	} {
		if got := firstEvent(lastID); got != want {
			t.Errorf("after %q comes %d, want %d", lastID, got, want)
		}
	}
}

func TestEvents_continueAfterLastID(t *testing.T) {
	url := serve(t, handlerOf(t)).URL + "/shop/-/sse"
	response := echotest.Open(t, echotest.Clients(t)["HTTP/1.1"], http.MethodGet, url, http.NoBody, "Last-Event-ID", "41")
	if first, err := bufio.NewReader(response.Body).ReadString('\n'); first != "id: 42\n" {
		t.Errorf("after the event 41 comes %q, %v", first, err)
	}
}

func TestEvents_beginImmediatelyAndEndWithServer(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	client := echotest.Clients(t)["HTTP/1.1"]
	if got := echotest.Send(t, client, http.MethodPost, server.URL+"/-/sse", ""); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST gets %d", got.StatusCode)
	}
	response := echotest.Open(t, client, http.MethodGet, server.URL+"/-/sse", http.NoBody)
	if first, err := bufio.NewReader(response.Body).ReadString('\n'); first != "id: 1\n" ||
		response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the first line is %q of %v, %v", first, response.Header, err)
	}
	echotest.Until(t, "the request is in flight", func() bool { return h.metrics.inFlight.Load() == 1 })
	close(h.life.ending)
	echotest.Until(t, "it ends", func() bool { return h.metrics.inFlight.Load() == 0 })
}

// TestEvents_comeEachSecond reads the stream for a few seconds and then stops reading. The server must end the stream after 30 s.
func TestEvents_comeEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		connection, began := listener.Dial(t), time.Now()
		if _, err := io.WriteString(connection, "GET /-/sse HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(connection)
		for number := 1; number <= 5; {
			if !lines.Scan() {
				t.Fatalf("the stream ends after %d events: %v", number-1, lines.Err())
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				want := fmt.Sprintf(`{"number":%d,"time":"%s"}`, number, began.Add(time.Duration(number-1)*time.Second).UTC().Format(time.RFC3339Nano))
				if data != want || time.Since(began) != time.Duration(number-1)*time.Second {
					t.Errorf("after %s comes %s, want %s", time.Since(began), data, want)
				}
				number++
			}
		}
		<-time.After(30*time.Second + time.Second - 1) // the time limit starts with the next event
		if h.metrics.inFlight.Load() != 1 {
			t.Error("the server does not wait until the client reads")
		}
		<-time.After(1)
		synctest.Wait()
		if h.metrics.inFlight.Load() != 0 {
			t.Error("the server waits for a client that does not read")
		}
	})
}
