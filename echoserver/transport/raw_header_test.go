package transport

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"
)

// TestRawHeader checks that the result does not depend on the size of the pieces in which the text arrives.
func TestRawHeader(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		lines int
		isOf  bool // of GET /a
		names []string
	}{
		"lines with CRLF":       {"GET /a HTTP/1.1\r\nHost: a\r\nx-LOWER: 1\r\n\r\nbody", 4, true, []string{"Host", "x-LOWER"}},
		"lines with LF":         {"GET /a HTTP/1.1\nHost: a\n\nbody\n\n", 3, true, []string{"Host"}},
		"no fields":             {"GET /a HTTP/1.0\r\n\r\n", 2, true, nil},
		"the same field twice":  {"GET /a HTTP/1.1\r\nA: 1\r\nB: 2\r\na: 3\r\n\r\n", 5, true, []string{"A", "B", "a"}},
		"another method":        {"PUT /a HTTP/1.1\r\n\r\n", 2, false, nil},
		"another path":          {"GET /b HTTP/1.1\r\n\r\n", 2, false, nil},
		"a longer path":         {"GET /a/b HTTP/1.1\r\n\r\n", 2, false, nil},
		"not complete":          {"GET /a HTTP/1.1\r\nHost: a\r\n", 2, false, []string{"Host"}},
		"the middle of another": {"T /a HTTP/1.1\r\nHost: a\r\n\r\n", 3, false, []string{"Host"}},
		"the preface of HTTP/2": {http2.ClientPreface + "frames", 2, false, nil},
		"a long field":          {"GET /a HTTP/1.1\r\nA: " + strings.Repeat("x", MostHeaderBytes) + "\r\n\r\n", 3, true, []string{"A"}},
	} {
		for _, size := range []int{1, 2, 7, 4096, 1 << 20} {
			h := &rawHeader{}
			for text := c.text; text != ""; text = text[min(size, len(text)):] {
				h.add([]byte(text[:min(size, len(text))]))
			}
			r := httptest.NewRequest(http.MethodGet, "/a", http.NoBody)
			names := h.names()
			if len(names) == 0 {
				names = nil
			}
			if h.lines != c.lines || h.isOf(r) != c.isOf || !cmp.Equal(names, c.names) || h.isPreface() != strings.HasPrefix(c.text, "PRI") ||
				strings.Contains(string(h.data), "body") {
				t.Errorf("%s in pieces of %d: there are %d lines, the names are %q; of the request: %t, preface: %t; the data is %q",
					name, size, h.lines, names, h.isOf(r), h.isPreface(), h.data)
			}
		}
	}
}

func TestRawHeader_restartsForNextRequest(t *testing.T) {
	h := &rawHeader{}
	h.add([]byte("GET /a HTTP/1.1\r\n\r\n"))
	h.ahead = []byte("G")
	h.restart()
	h.add([]byte("ET /b HTTP/1.1\r\nX: 1\r\n\r\n"))
	if !h.isOf(httptest.NewRequest(http.MethodGet, "/b", http.NoBody)) || h.lines != 3 ||
		len(h.data) != len("GET /b HTTP/1.1\r\nX: 1\r\n\r\n") {
		t.Errorf("the next header is %q, %d lines, %d bytes", h.data, h.lines, len(h.data))
	}
	h.restart()
	if len(h.data) != 0 {
		t.Errorf("the byte that was read ahead is used twice: %q", h.data)
	}
	h.add([]byte(http2.ClientPreface))
	if h.isPreface() {
		t.Error("HTTP/2 can begin only at the beginning of a connection")
	}
}

func TestCheckHeader(t *testing.T) {
	for name, c := range map[string]struct {
		size   HeaderSize
		status int
	}{
		"a short header":            {HeaderSize{100, 20, 3}, 0},
		"the largest header":        {HeaderSize{DefaultHeaderBytes, 20, 3}, 0},
		"a byte more":               {HeaderSize{DefaultHeaderBytes + 1, 20, 3}, 431},
		"as many fields as allowed": {HeaderSize{5000, 20, MaxFields}, 0},
		"a field more":              {HeaderSize{5000, 20, MaxFields + 1}, 431},
		"the longest request line":  {HeaderSize{9000, MaxRequestLine, 3}, 0},
		"a longer request line":     {HeaderSize{9000, MaxRequestLine + 1, 3}, 414},
		"a longer request line in a header that is too large": {HeaderSize{DefaultHeaderBytes + 1, MaxRequestLine + 1, 3}, 414},
	} {
		status := 0
		if rejected := CheckHeader(c.size, DefaultHeaderBytes); rejected != nil {
			status = rejected.Status
		}
		if status != c.status {
			t.Errorf("%s: the status is %d, want %d", name, status, c.status)
		}
	}
}

// TestMeasureHeader_asSent compares the measured size of a parsed header with its size as sent over HTTP/1.1.
func TestMeasureHeader_asSent(t *testing.T) {
	sent := "POST /path?query=1 HTTP/1.1\r\nHost: example.com\r\nX-A: 1\r\nX-A: 22\r\nX-The-Longest: 333\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(sent)))
	if err != nil {
		t.Fatal(err)
	}
	raw := &rawHeader{}
	raw.add([]byte(sent))
	got, longest := MeasureHeader(r)
	want := raw.size()
	if got != want || longest != "X-The-Longest" || raw.longestField() != longest {
		t.Errorf("the parsed header is %+v with %s, as it was sent %+v with %s", got, longest, want, raw.longestField())
	}
}

// TestRawHeader_longestField checks that longestField returns an incomplete name, but never returns a value that continues on the next line
// (RFC 9112, 5.2), because the value may be secret.
func TestRawHeader_longestField(t *testing.T) {
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

// TestRawHeader_forgetsRejected checks that an idle connection does not keep a long header in memory.
func TestRawHeader_forgetsRejected(t *testing.T) {
	h := &rawHeader{}
	for _, length := range []int{100, DefaultHeaderBytes - 100} {
		h.add(bytes.Join([][]byte{[]byte("GET / HTTP/1.1\r\nA: "), bytes.Repeat([]byte("x"), length), []byte("\r\n\r\n")}, nil))
		h.restart()
		if cap(h.data) > IncludedHeader {
			t.Errorf("after a header of %d bytes it holds %d", length, cap(h.data))
		}
	}
}
