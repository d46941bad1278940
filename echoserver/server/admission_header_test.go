package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// headerCase is a request with a large header.
type headerCase struct {
	path   string
	cookie int // the length, in bytes, of the cookie
	status int
}

func headerCases(limit int) map[string]headerCase {
	return map[string]headerCase{
		"a cookie of 17,500 bytes":          {"/", 17_500, http.StatusOK},
		"a cookie near the limit":           {"/", limit - 200, http.StatusOK},
		"a cookie of 1.2 times the limit":   {"/", limit * 12 / 10, http.StatusRequestHeaderFieldsTooLarge},
		"a cookie of 3.6 times the limit":   {"/", limit * 36 / 10, http.StatusRequestHeaderFieldsTooLarge},
		"a path of 9,000 bytes":             {"/" + echotest.Payload(8_999), 0, http.StatusRequestURITooLong},
		"a path of 40,000 bytes":            {"/" + echotest.Payload(39_999), 0, http.StatusRequestURITooLong},
		"a path and a cookie, together":     {"/" + echotest.Payload(8_000), limit - 8_000, http.StatusRequestHeaderFieldsTooLarge},
		"a path and a cookie, both allowed": {"/" + echotest.Payload(8_000), limit - 8_500, http.StatusOK},
	}
}

// TestCheckHeader sends the same requests over HTTP/1.1 and HTTP/2, which have the same limits.
func TestCheckHeader(t *testing.T) {
	for setting, limit := range map[string]int{"": transport.DefaultHeaderBytes, "ECHO_MAX_HEADER_BYTES=65536": transport.MostHeaderBytes} {
		p := start(t, strings.Fields(setting)...)
		for name, c := range headerCases(limit) {
			got := echotest.Exchanged(t, echotest.Dial(t, p.url),
				"GET "+c.path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: "+strings.Repeat("c", c.cookie)+"\r\n\r\n")
			if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
				t.Errorf("%s over HTTP/1.1, %s: the response is %.100q, want %d", name, setting, got, c.status)
			}
			sharedConnection(t, p.url, name, c)
		}
	}
}

// sharedConnection sends a request on an HTTP/2 connection while another request waits. Both requests must get their responses.
func sharedConnection(t *testing.T, url, name string, c headerCase) {
	t.Helper()
	connection := echotest.Dial(t, url)
	defer func() { _ = connection.Close() }()
	framer, err := greet(connection, complete)
	if err != nil {
		t.Fatal(err)
	}
	writeRequest(t, framer, 1, headerBlock("GET", "/slow?echo.delay=200ms"))
	writeRequest(t, framer, 3, headerBlock("GET", c.path, "cookie", strings.Repeat("c", c.cookie)))
	got := statuses(t, framer, 2)
	if got[1] != "200" || got[3] != fmt.Sprint(c.status) {
		t.Errorf("%s over HTTP/2: the response is %s, want %d; the other one is %s", name, got[3], c.status, got[1])
	}
}

func writeRequest(t *testing.T, framer *http2.Framer, stream uint32, block []byte) {
	t.Helper()
	if err := writeHeader(framer, stream, block, true, true); err != nil {
		t.Fatal(err)
	}
}

// statuses waits until the given number of streams has ended, and returns their status codes. Meanwhile, the connection must stay open.
func statuses(t *testing.T, framer *http2.Framer, streams int) map[uint32]string {
	t.Helper()
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	got := map[uint32]string{}
	for ended := 0; ended < streams; {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Errorf("after %v: %v", got, err)
			return got
		}
		switch f := frame.(type) {
		case *http2.GoAwayFrame:
			t.Errorf("the server ends the connection: %v", f)
			return got
		case *http2.MetaHeadersFrame:
			got[f.StreamID] = f.PseudoValue("status")
			if f.StreamEnded() {
				ended++
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				ended++
			}
		}
	}
	return got
}

// TestNewServer_closesAfterUndecodableHeader checks that the server closes the connection, as documented, if net/http cannot decode a
// header.
func TestNewServer_closesAfterUndecodableHeader(t *testing.T) {
	server := serve(t, handlerOf(t))
	for name, block := range map[string][]byte{
		"five times the limit": headerBlock("GET", "/", "cookie", strings.Repeat("c", 5*transport.DefaultHeaderBytes)),
		"no HPACK":             {0x80},
	} {
		connection := echotest.Dial(t, server.URL)
		framer, err := greet(connection, complete)
		if err != nil {
			t.Fatal(err)
		}
		_ = writeHeader(framer, 1, block, true, true) // the server may close the connection before it has read everything
		if !endsWithGoAway(framer) {
			t.Errorf("%s: the connection stays open", name)
		}
	}
}

func endsWithGoAway(framer *http2.Framer) bool {
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return false
		}
		if f, ok := frame.(*http2.GoAwayFrame); ok && f.ErrCode != http2.ErrCodeNo {
			return true
		}
	}
}

// TestCheckHeader_reportsRejections checks the metric and the log line for rejected headers in both HTTP versions.
func TestCheckHeader_reportsRejections(t *testing.T) {
	h, log := loggedHandler(t)
	server := serve(t, h)
	long := strings.Repeat("c", transport.DefaultHeaderBytes)
	_ = echotest.Exchanged(t, echotest.Dial(t, server.URL), "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nCookie: "+long+"\r\n\r\n")
	sharedConnection(t, server.URL, "a cookie", headerCase{"/", len(long), http.StatusRequestHeaderFieldsTooLarge})
	want := fmt.Sprintf(`"status":431,"reason":"the header is larger than %d bytes","limit":%[1]d,"longestField":"Cookie"}`,
		transport.DefaultHeaderBytes)
	if got := log.String(); strings.Count(got, want) != 2 || strings.Count(got, `"remote":"127.0.0.1:`) < 2 {
		t.Errorf("the log is %s, want twice %s", got, want)
	}
	if got := counted(h.metrics.rejected, transport.LimitHeader); got != 2 {
		t.Errorf("%d are counted", got)
	}
}

// TestAdmitTrailer sends a trailer that the response must include, and one that is too large.
func TestAdmitTrailer(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for length, want := range map[int]int{10_000: http.StatusOK, transport.DefaultHeaderBytes: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, echotest.Unsized{Reader: strings.NewReader("body")})
		if err != nil {
			t.Fatal(err)
		}
		r.Trailer = http.Header{"X-A": {echotest.Payload(length)}}
		response, err := echotest.Clients(t)["HTTP/2.0"].Do(r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != want ||
			want == http.StatusOK && len(decode(t, string(data)).Request.Trailers["X-A"][0]) != length {
			t.Errorf("a trailer of %d bytes: the response is %d, %.100q, %v", length, response.StatusCode, data, err)
		}
	}
	if got := h.budget.Requests.Used.Load(); got != 0 {
		t.Errorf("%d bytes are held", got)
	}
}

// TestCheckHeader_countsWholePipelinedHeader checks that the whole header counts toward the size limit, even if net/http read its beginning
// together with the previous request.
func TestCheckHeader_countsWholePipelinedHeader(t *testing.T) {
	first := "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	conn := echotest.Dial(t, serve(t, handlerOf(t)).URL)
	got := echotest.Exchanged(t, conn, first+"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: "+
		strings.Repeat("c", transport.DefaultHeaderBytes-20)+"\r\n\r\n")
	if !strings.Contains(got, "HTTP/1.1 431 ") {
		t.Errorf("the responses are %.2000q", got)
	}
}
