package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

func TestCheckHeader(t *testing.T) {
	for name, c := range map[string]struct {
		size   headerSize
		status int
	}{
		"a short header":                    {headerSize{100, 20, 3}, 0},
		"the largest header":                {headerSize{defaultHeaderBytes, 20, 3}, 0},
		"a byte more":                       {headerSize{defaultHeaderBytes + 1, 20, 3}, 431},
		"as many fields as allowed":         {headerSize{5000, 20, maxFields}, 0},
		"a field more":                      {headerSize{5000, 20, maxFields + 1}, 431},
		"the longest request line":          {headerSize{9000, maxRequestLine, 3}, 0},
		"a longer request line":             {headerSize{9000, maxRequestLine + 1, 3}, 414},
		"a longer request line of too much": {headerSize{defaultHeaderBytes + 1, maxRequestLine + 1, 3}, 414},
	} {
		status := 0
		if rejected := checkHeader(c.size, defaultHeaderBytes); rejected != nil {
			status = rejected.status
		}
		if status != c.status {
			t.Errorf("%s: the status is %d, want %d", name, status, c.status)
		}
	}
}

// TestHeadersAreMeasuredAsTheyAreSent compares the size of a parsed header with the bytes that HTTP/1.1 sends.
func TestHeadersAreMeasuredAsTheyAreSent(t *testing.T) {
	sent := "POST /path?query=1 HTTP/1.1\r\nHost: example.com\r\nX-A: 1\r\nX-A: 22\r\nX-The-Longest: 333\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(sent)))
	if err != nil {
		t.Fatal(err)
	}
	raw := &rawHeader{}
	raw.add([]byte(sent))
	got, longest := measureHeader(r)
	want := raw.size()
	if got != want || longest != "X-The-Longest" || raw.longestField() != longest {
		t.Errorf("the parsed header is %+v with %s, as it was sent %+v with %s", got, longest, want, raw.longestField())
	}
}

// TestLongestField checks names that are not complete, and values that continue on the next line (RFC 9112, 5.2): they may be secrets.
func TestLongestField(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for text, want := range map[string]string{
		"A: 1\r\n" + long:         long[:maxLoggedField],
		"Cookie: a;\r\n " + long:  "",
		"Cookie: a;\r\n\t" + long: "",
	} {
		raw := &rawHeader{}
		raw.add([]byte("GET / HTTP/1.1\r\n" + text))
		if got := raw.longestField(); got != want {
			t.Errorf("%.20q: the name is %q, want %q", text, got, want)
		}
	}
}

// headerCase is a request whose header is large.
type headerCase struct {
	path   string
	cookie int // its length
	status int
}

func headerCases(limit int) map[string]headerCase {
	return map[string]headerCase{
		"a cookie of 17,500 bytes":          {"/", 17_500, http.StatusOK},
		"a cookie near the limit":           {"/", limit - 200, http.StatusOK},
		"a cookie of 1.2 times the limit":   {"/", limit * 12 / 10, http.StatusRequestHeaderFieldsTooLarge},
		"a cookie of 3.6 times the limit":   {"/", limit * 36 / 10, http.StatusRequestHeaderFieldsTooLarge},
		"a path of 9,000 bytes":             {"/" + payload(8_999), 0, http.StatusRequestURITooLong},
		"a path of 40,000 bytes":            {"/" + payload(39_999), 0, http.StatusRequestURITooLong},
		"a path and a cookie, together":     {"/" + payload(8_000), limit - 8_000, http.StatusRequestHeaderFieldsTooLarge},
		"a path and a cookie, both allowed": {"/" + payload(8_000), limit - 8_500, http.StatusOK},
	}
}

// TestLargeHeaders sends the same requests over HTTP/1.1 and HTTP/2, whose limits are the same.
func TestLargeHeaders(t *testing.T) {
	for setting, limit := range map[string]int{"": defaultHeaderBytes, "ECHO_MAX_HEADER_BYTES=65536": mostHeaderBytes} {
		p := start(t, strings.Fields(setting)...)
		for name, c := range headerCases(limit) {
			got := exchanged(t, dial(t, p.url), "GET "+c.path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: "+strings.Repeat("c", c.cookie)+"\r\n\r\n")
			if !strings.HasPrefix(got, fmt.Sprintf("HTTP/1.1 %d ", c.status)) {
				t.Errorf("%s over HTTP/1.1, %s: the response is %.100q, want %d", name, setting, got, c.status)
			}
			sharedConnection(t, p.url, name, c)
		}
	}
}

// sharedConnection sends a request on a connection of HTTP/2 while another request waits. It must get its response, and the other one, too.
func sharedConnection(t *testing.T, url, name string, c headerCase) {
	t.Helper()
	connection := dial(t, url)
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

// statuses returns the statuses of a number of streams. The connection must not end.
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

// TestHeadersBeyondTheDecoder checks that what net/http does not decode ends the connection, as documented.
func TestHeadersBeyondTheDecoder(t *testing.T) {
	server := serve(t, handlerOf(t))
	for name, block := range map[string][]byte{
		"five times the limit": headerBlock("GET", "/", "cookie", strings.Repeat("c", 5*defaultHeaderBytes)),
		"no HPACK":             {0x80},
	} {
		connection := dial(t, server.URL)
		framer, err := greet(connection, complete)
		if err != nil {
			t.Fatal(err)
		}
		_ = writeHeader(framer, 1, block, true, true) // the server may end the connection before it has read all
		if !endsWithGoAway(framer) {
			t.Errorf("%s: the connection goes on", name)
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

// TestRejectedHeadersAreReported checks metric and log for both versions.
func TestRejectedHeadersAreReported(t *testing.T) {
	h, log := loggedHandler(t)
	server := serve(t, h)
	long := strings.Repeat("c", defaultHeaderBytes)
	_ = exchanged(t, dial(t, server.URL), "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nCookie: "+long+"\r\n\r\n")
	sharedConnection(t, server.URL, "a cookie", headerCase{"/", len(long), http.StatusRequestHeaderFieldsTooLarge})
	want := fmt.Sprintf(`"status":431,"reason":"the header is larger than %d bytes","limit":%[1]d,"longestField":"Cookie"}`, defaultHeaderBytes)
	if got := log.String(); strings.Count(got, want) != 2 || strings.Count(got, `"remote":"127.0.0.1:`) < 2 {
		t.Errorf("the log is %s, want twice %s", got, want)
	}
	if got := counted(h.metrics.limits, limitHeader); got != 2 {
		t.Errorf("%d are counted", got)
	}
}

// TestRejectedHeadersAreForgotten checks that a connection holds nothing of a long header when it is idle.
func TestRejectedHeadersAreForgotten(t *testing.T) {
	h := &rawHeader{}
	for _, length := range []int{100, defaultHeaderBytes - 100} {
		h.add(bytes.Join([][]byte{[]byte("GET / HTTP/1.1\r\nA: "), bytes.Repeat([]byte("x"), length), []byte("\r\n\r\n")}, nil))
		h.restart()
		if cap(h.data) > includedHeader {
			t.Errorf("after a header of %d bytes it holds %d", length, cap(h.data))
		}
	}
}

// TestTrailersHaveTheLimitsOfHeaders sends trailers, which the response contains.
func TestTrailersHaveTheLimitsOfHeaders(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for length, want := range map[int]int{10_000: http.StatusOK, defaultHeaderBytes: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, unsized{strings.NewReader("body")})
		if err != nil {
			t.Fatal(err)
		}
		r.Trailer = http.Header{"X-A": {payload(length)}}
		response, err := clients(t)["HTTP/2.0"].Do(r)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != want || want == http.StatusOK && len(decode(t, string(data)).Request.Trailers["X-A"][0]) != length {
			t.Errorf("a trailer of %d bytes: the response is %d, %.100q, %v", length, response.StatusCode, data, err)
		}
	}
	if got := h.budget.requests.used.Load(); got != 0 {
		t.Errorf("%d bytes are held", got)
	}
}

// TestHeadersAfterAnotherRequest checks that the beginning of a header that net/http read with the request before counts.
func TestHeadersAfterAnotherRequest(t *testing.T) {
	first := "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	connection := dial(t, serve(t, handlerOf(t)).URL)
	got := exchanged(t, connection, first+"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: "+
		strings.Repeat("c", defaultHeaderBytes-20)+"\r\n\r\n")
	if !strings.Contains(got, "HTTP/1.1 431 ") {
		t.Errorf("the responses are %.2000q", got)
	}
}
