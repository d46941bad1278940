package server

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestContent requests several kinds of content at once.
func TestContent(t *testing.T) {
	fixed := []string{"ECHO_RESPONSE_BODY=fixed"}
	for name, c := range map[string]struct {
		environ   []string
		target    string
		accept    string
		mediaType string
		begin     string
	}{
		"the echo":                         {nil, "/", "", "application/json", "{\n \"path\": \"/\",\n"},
		"to a program":                     {nil, "/", "application/json, text/plain, */*", "application/json", "{\"path\":\"/\","},
		"to any program":                   {nil, "/", "application/*", "application/json", "{\n \"path\": \"/\",\n"},
		"by Accept":                        {nil, "/", "text/plain", transport.PlainText, "GET / HTTP/1.1\n"},
		"a page by Accept":                 {nil, "/", "text/html", describe.PageType, "<!doctype html>\n"},
		"the format before Accept":         {nil, "/?echo.format=json", "text/html", "application/json", "{\n"},
		"the format before another Accept": {nil, "/?echo.format=text", "application/json", transport.PlainText, "GET "},
		"a size before the format":         {nil, "/?echo.format=html&echo.size=3", "", transport.PlainText, "012"},
		"a size of zero is not the echo":   {nil, "/?echo.size=0", "", transport.PlainText, ""},
		"a fixed body before Accept":       {fixed, "/", "text/html", transport.PlainText, "fixed"},
		"a fixed page": {append(fixed, `ECHO_RESPONSE_HEADERS=[{"name":"Content-Type","value":"text/html"}]`), "/", "", "text/html",
			"fixed"},
		"a size before a fixed body":          {fixed, "/?echo.size=3", "", transport.PlainText, "012"},
		"an Accept for nothing that there is": {nil, "/", "image/png", "application/json", "{\n"},
	} {
		w := echotest.Record(handlerOf(t, c.environ...), c.target, "Accept", c.accept)
		if got := w.Header().Get("Content-Type"); got != c.mediaType {
			t.Errorf("%s: the type is %s, want %s", name, got, c.mediaType)
		}
		isWhole := c.environ != nil || strings.Contains(c.target, "size")
		if body := w.Body.String(); !strings.HasPrefix(body, c.begin) || isWhole && body != c.begin {
			t.Errorf("%s: the body is %q", name, body)
		}
		if got := w.Header().Get("Content-Length"); got != strconv.Itoa(w.Body.Len()) {
			t.Errorf("%s: %s bytes are announced, %d bytes are received", name, got, w.Body.Len())
		}
		if isPage := c.mediaType == describe.PageType; isPage == (w.Header().Get("Content-Security-Policy") == exchange.Sandbox) {
			t.Errorf("%s: the policy is %s", name, w.Header().Get("Content-Security-Policy"))
		}
	}
}

func TestFiller(t *testing.T) {
	const line = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"
	for _, size := range []int64{0, 1, 63, 64, 65, 512, 513, 5000} {
		text := io.NewSectionReader(filler{}, 0, size)
		whole, err := io.ReadAll(text)
		if err != nil || string(whole) != strings.Repeat(line, 80)[:size] {
			t.Errorf("%d bytes: %q, %v", size, whole, err)
		}
	}
}

// TestContent_hasBodyIfStatusAllows checks which status codes allow a body, and which headers describe the body.
func TestContent_hasBodyIfStatusAllows(t *testing.T) {
	h := handlerOf(t)
	for status, hasBody := range map[int]bool{200: true, 203: true, 204: false, 205: false, 206: true, 303: true, 304: false, 599: true} {
		for _, more := range []string{"", "&echo.size=100", "&echo.format=html"} {
			w := echotest.Record(h, "/?echo.status="+strconv.Itoa(status)+more)
			header := w.Header()
			if w.Code != status || (w.Body.Len() > 0) != hasBody || (header.Get("Content-Type") != "") != hasBody ||
				(header.Get("Content-Length") != "") != hasBody {
				t.Errorf("%d%s: the status is %d, there are %d bytes, the headers are %v", status, more, w.Code, w.Body.Len(), header)
			}
			if !strings.HasPrefix(header.Get("X-Echo-Applied"), "status="+strconv.Itoa(status)) {
				t.Errorf("%d%s: the applied controls are %q", status, more, header.Get("X-Echo-Applied"))
			}
		}
	}
}

// TestHandler_supportsHeadOfEachRoute sends HEAD requests wherever GET is supported. Each response must have the status and media type of
// the response to GET, and must end (RFC 9110, 9.3.2).
func TestHandler_supportsHeadOfEachRoute(t *testing.T) {
	h := handlerOf(t)
	public, admin := serve(t, h).URL, serve(t, newAdmin(h.life, h.metrics)).URL
	for proto, client := range echotest.Clients(t) {
		for _, url := range []string{public + "/", public + "/a?echo.size=5", public + "/?echo.status=503", public + "/?echo.format=html",
			public + "/-/livez", public + "/-/readyz", public + "/-/body", public + "/-/body?digest", public + "/-/ws", public + "/-/sse",
			public + "/shop/-/sse", public + "/-/unknown", admin + "/metrics", admin + "/livez"} {
			get := echotest.Open(t, client, http.MethodGet, url, http.NoBody) // not read to the end, because event streams do not end
			head := echotest.Send(t, client, http.MethodHead, url, "")
			mediaType := head.Header.Get("Content-Type")
			if head.StatusCode != get.StatusCode || mediaType != get.Header.Get("Content-Type") || head.Text != "" ||
				head.Header.Get("Accept-Ranges") != get.Header.Get("Accept-Ranges") ||
				strings.HasSuffix(url, "size=5") && head.ContentLength != 5 {
				t.Errorf("%s, %s: %d with type %q and %q", proto, url, head.StatusCode, mediaType, head.Text)
			}
			_ = get.Body.Close()
		}
		for _, path := range []string{"/-/ws", "/-/sse", "/-/arrivals"} {
			got := echotest.Send(t, client, http.MethodPost, public+path, "")
			if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s, POST %s: %d, Allow %q", proto, path, got.StatusCode, got.Header.Get("Allow"))
			}
		}
	}
	got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodHead, public+"/-/ws", "", "Connection", "Upgrade",
		"Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
	if got.StatusCode != http.StatusOK {
		t.Errorf("HEAD with a handshake: %d", got.StatusCode)
	}
}

// TestContent_servesSingleRanges requests ranges of a 100-byte response, and of responses that do not support ranges.
func TestContent_servesSingleRanges(t *testing.T) {
	h := handlerOf(t)
	whole := echotest.Record(h, "/?echo.size=100").Body.String()
	for text, want := range map[string]string{"bytes=0-9": whole[:10], "bytes=-5": whole[95:], "bytes=-500": whole, "bytes=90-": whole[90:],
		"bytes=99-99999999999999999999": whole[99:], "bytes=100-": "416", "bytes=a-b": "416", "bytes=-0": "416", "bytes=9-8": "416", "bytes=-": "416",
		"bytes=5": "416", "bytes=+1-2": "416", "bytes=99999999999999999999-": "416",
		"": "200", "bytes=0-1,5-6": "200", "lines=0-1": "200"} {
		w := echotest.Record(h, "/?echo.size=100", "Range", text)
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) ||
			(w.Header().Get("X-Echo-Applied") == "size=100") != (want != "416") {
			t.Errorf("%q: the headers are %q", text, w.Header())
		}
		switch {
		case want == "200" && (w.Code != http.StatusOK || w.Body.String() != whole || w.Header().Get("Content-Range") != ""),
			want == "416" && (w.Code != http.StatusRequestedRangeNotSatisfiable || strings.Contains(w.Body.String(), whole[:5])),
			len(want) != 3 && (w.Code != http.StatusPartialContent || w.Body.String() != want ||
				!strings.HasSuffix(w.Header().Get("Content-Range"), "/100")):
			t.Errorf("%q: %d with %q and %q", text, w.Code, w.Header(), w.Body)
		}
	}
	refused := echotest.Record(handlerOf(t, "ECHO_CONTROLS=Full"),
		"/?echo.size=9&echo.delay=1ms&echo.set-header=Cache-Control:max-age=60&echo.set-header=Content-Type:text/csv", "Range", "bytes=9-")
	if header := refused.Header(); refused.Code != 416 || header.Get("Cache-Control") != "no-store" ||
		header.Get("X-Echo-Applied") != "delay=1ms" || header.Get("Content-Type") != transport.PlainText {
		t.Errorf("the response without a range is %d with %q", refused.Code, refused.Header())
	}
	if w := echotest.Record(h, "/?echo.size=100", "Range", "bytes=0-1", "If-Range", `"a"`); w.Code != 200 || w.Body.String() != whole {
		t.Errorf("with If-Range: %d", w.Code)
	}
	for _, target := range []string{"/", "/?echo.size=100&echo.status=404", "/-/livez", "/?echo.size=0"} {
		if w := echotest.Record(h, target, "Range", "bytes=0-1"); w.Code == http.StatusPartialContent || w.Header().Get("Accept-Ranges") != "" {
			t.Errorf("%s: %d with %q", target, w.Code, w.Header())
		}
	}
}

func TestHandler_echoesBodiesOfEachSize(t *testing.T) {
	server := serve(t, handlerOf(t))
	// Some sizes are close to this server's limits, or to 256 KiB: net/http closes a connection if more than 256 KiB of a body is unread.
	sizes := []int{0, 1, exchange.MaxShown - 1, exchange.MaxShown, exchange.MaxShown + 1, 250_000, 256 << 10, 300_000, exchange.MaxBody}
	for proto, client := range echotest.Clients(t) {
		for _, size := range sizes {
			sent := echotest.Payload(size)
			if got := echotest.Send(t, client, http.MethodPost, server.URL+"/-/body", sent); got.Text != sent || got.ContentLength != int64(size) {
				t.Errorf("%s: %d bytes were sent, %d came back, %d were announced", proto, size, len(got.Text), got.ContentLength)
			}
			unsized := echotest.Unsized{Reader: strings.NewReader(sent)}
			if got := echotest.Open(t, client, http.MethodPost, server.URL+"/-/body", unsized).Whole(t); got.Text != sent {
				t.Errorf("%s: %d bytes of unknown length came back as %d", proto, size, len(got.Text))
			}
			answer := decode(t, echotest.Send(t, client, http.MethodPost, server.URL, sent).Text).Request.Body
			if (answer == nil) != (size == 0) || answer != nil && answer.Size != int64(size) {
				t.Errorf("%s: the response to %d bytes reports %+v", proto, size, answer)
			}
		}
	}
}

// streamWriter is a response writer that supports streaming and records the deadlines set on it.
type streamWriter struct {
	*httptest.ResponseRecorder
	write         error // the error that Write returns
	reads, writes []time.Time
}

func (w *streamWriter) SetReadDeadline(deadline time.Time) error {
	w.reads = append(w.reads, deadline)
	return nil
}

func (w *streamWriter) SetWriteDeadline(deadline time.Time) error {
	w.writes = append(w.writes, deadline)
	return nil
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
	for name, c := range map[string]struct {
		writer streamWriter
		body   io.Reader
		length int64
		want   result
	}{
		"announced":         {body: strings.NewReader("hello"), length: 5, want: result{Status: 200, Body: "hello", Length: "5"}},
		"of unknown length": {body: strings.NewReader("hello"), length: -1, want: result{Status: 200, Body: "hello"}},
		"empty":             {body: http.NoBody, want: result{Status: 200, Length: "0"}},
		"announced over the limit": {body: strings.NewReader("x"), length: maxStreamed + 1,
			want: result{Status: 413, Body: refusal, TooLarge: 1}},
		"breaks off": {body: io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(broken)), length: 5,
			want: result{Status: 200, Body: "hel", Length: "5", Aborted: true}},
		"the client does not read": {writer: streamWriter{write: broken}, body: strings.NewReader("hello"), length: 5,
			want: result{Status: 200, Length: "5", Aborted: true}},
		"over the limit": {body: io.MultiReader(strings.NewReader("hel"), iotest.ErrReader(&http.MaxBytesError{})), length: -1,
			want: result{Status: 200, Body: "hel", Aborted: true, TooLarge: 1}},
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
		w, began := &streamWriter{ResponseRecorder: httptest.NewRecorder()}, time.Now()
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

// TestStreamBody_respondsWithDigest requests digests of bodies instead of the bodies.
func TestStreamBody_respondsWithDigest(t *testing.T) {
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

// TestEvents_comeEachSecond reads the stream after event 41 for a few seconds, and then stops reading, which ends the stream after 30 s.
func TestEvents_comeEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		_, listener := serveInMemory(t, h)
		connection, began := listener.Dial(t), time.Now()
		if _, err := io.WriteString(connection, "GET /-/sse HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 41\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(connection), nil)
		if err != nil || response.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("the response is %v, %v", response, err)
		}
		defer func() { _ = response.Body.Close() }()
		lines := bufio.NewScanner(response.Body)
		for second := range 5 {
			after := time.Duration(second) * time.Second
			for _, want := range []string{fmt.Sprintf("id: %d", 42+second),
				fmt.Sprintf(`data: {"number":%d,"time":"%s"}`, 42+second, began.Add(after).UTC().Format(time.RFC3339Nano)), ""} {
				if !lines.Scan() || lines.Text() != want || time.Since(began) != after {
					t.Errorf("after %s comes %s, %v, want %s", time.Since(began), lines.Text(), lines.Err(), want)
				}
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
