package rejections

import (
	"bufio"
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// FuzzExplain checks that Explain returns a reason for each request that net/http rejects, and that the reason contains no value from the
// request.
func FuzzExplain(f *testing.F) {
	for _, seed := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "G@T / HTTP/1.1\n\n", "GET /%zz HTTP/1.1\r\n\r\n",
		"CONNECT a:x HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nA: b\r\n c: d\r\nContent-Length: 1\r\n 2\r\n\r\n",
		"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: trailer\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", "PROXY UNKNOWN\r\n", "\x00\r\nQUIT\n", "GET / HTTP/1.1\r\nA\r\n\r\n",
		"GET / HTTP/1.1\r\n A: b\r\n\r\n",
		"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "GET / HTTP/1.1\r\nHost: \x00\r\n\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		head, ended := headerOf(data)
		what := Header{Data: head, Known: true, Ended: ended}.Explain("HTTP/1.1 400 Bad Request")
		if what.Status != http.StatusBadRequest || what.Reason == "" || what.Detail == "" || !utf8.ValidString(what.Detail) ||
			strings.ContainsAny(what.Detail, "\r\n") || len(what.Detail) > maxDetail {
			t.Errorf("%q: %+v", head, what)
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
		if err != nil {
			if what.Reason == ReasonOther && !strings.Contains(err.Error(), "transfer encoding") { // such errors have their own status
				t.Errorf("%q has no reason for %v", head, err)
			}
			return
		}
		names := slices.Collect(maps.Keys(r.Header))
		isNamed := !slices.ContainsFunc(names, func(name string) bool { return !httpguts.ValidHeaderFieldName(name) })
		maybe := what.Reason == ReasonOther || what.Reason == ReasonHost || what.Reason == ReasonProxyProtocol ||
			strings.HasPrefix(what.Detail, "Trailer ") // ReadRequest does not check Trailer, but Explain blames it if everything else is valid
		if isNamed && !maybe {
			t.Errorf("%q has a reason, but no error: %+v", head, what)
		}
	})
}

// headerOf returns the part of the data that the connection package considers a header.
func headerOf(data []byte) (head []byte, ended bool) {
	rest := data
	for {
		line, next, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return data, false
		}
		if len(bytes.TrimRight(line, "\r")) == 0 && len(rest) < len(data) {
			return data[:len(data)-len(next)], true
		}
		rest = next
	}
}

// TestHeader_Explain checks the cases that need no server.
func TestHeader_Explain(t *testing.T) {
	for name, c := range map[string]struct {
		header     Header
		statusLine string
		want       Rejection
	}{
		"nothing": {Header{Known: true}, "", Rejection{Protocol: "HTTP/1", Status: 400, Reason: ReasonIncomplete,
			Detail: "the connection ended before the empty line after the header"}},
		"a valid header": {Header{Data: []byte("GET / HTTP/1.0\r\n\r\n"), Known: true, Ended: true}, "HTTP/1.1 400 Bad Request",
			Rejection{Protocol: "HTTP/1.0", Status: 400, Reason: ReasonOther, Detail: "net/http gives no reason"}},
		"PROXY protocol 2": {Header{Data: []byte{0}, EmptyLines: []byte("\r\n\r\n"), Known: true}, "HTTP/1.1 400 Bad Request",
			Rejection{Protocol: "PROXY v2", Status: 400, Reason: ReasonProxyProtocol, Detail: DetailProxy}},
		"the end of a header": {Header{Data: []byte("PROXY: 1\r\n\r\n"), Ended: true}, "HTTP/1.1 501 Not Implemented",
			Rejection{Protocol: "HTTP/1", Status: 501, Reason: ReasonTransferEncoding, Detail: "Transfer-Encoding must be chunked, exactly once"}},
		"a long name": {Header{Data: []byte("GET / HTTP/1.1\r\n" + strings.Repeat("x", 1000) + ": \x00\r\n\r\n"), Known: true, Ended: true}, "",
			Rejection{Protocol: "HTTP/1.1", Status: 400, Reason: ReasonField,
				Detail: "the value of " + strings.Repeat("x", maxName) + " contains a control character"}},
	} {
		if got := c.header.Explain(c.statusLine); got != c.want {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
