package connection

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
)

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
