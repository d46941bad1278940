package transport

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// FuzzRequests sends each text in one piece and in several pieces. The server must not lose any bytes, and each response must come from a
// handler or be reported as a rejection.
func FuzzRequests(f *testing.F) {
	const plain = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	f.Add(plain+plain, uint8(3), uint8(30), false)
	f.Add("\r\n"+plain+"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\n\r\n"+plain, uint8(1), uint8(80), false)
	f.Add(plain+"GET /b HTTP/1.1\r\nHost: a\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n", uint8(60), uint8(2), false)
	f.Add(plain+plain+"GET /third HTTP/1.1\r\nHost: a\r\n\r\n", uint8(len(plain)*2+19), uint8(1), false)
	f.Add(plain+"GET /b HTTP/1.1\r\nHost: a\r\n\r\n", uint8(len(plain)+15), uint8(2), false)
	f.Add(plain+plain+"GET /c HTTP/1.1\r\nHost: a\r\n\r\n", uint8(len(plain)*2+15), uint8(1), false)
	f.Add(plain+"GET /a%zz HTTP/1.1\r\n\r\n", uint8(0), uint8(28), false)
	f.Add("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n\r\n"+plain, uint8(9), uint8(70), false)
	f.Add("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab\r\n"+plain, uint8(46), uint8(3), false)
	f.Add("\r\n\r\n\x00\r\nQUIT\n"+plain, uint8(5), uint8(30), false)
	f.Add("0 * HTTP/1.1\nHost:\n\n0 * HTTP/1.0\n0000:\n\n", uint8(39), uint8(2), true)
	f.Add(plain+"\r\n"+plain, uint8(len(plain)), uint8(1), true)
	f.Add(plain+plain+"\n"+plain, uint8(len(plain)*2), uint8(1), true)
	f.Add(plain+"GET /b HTTP/1.1\r\nHost: a\r\n\r\n", uint8(len(plain)+16), uint8(1), true)
	f.Add(plain+"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n\r\n"+plain, uint8(len(plain)+51), uint8(1), true)
	f.Fuzz(func(t *testing.T, sent string, first, second uint8, slow bool) {
		if len(sent) > 4000 || strings.Contains(sent, "PRI ") || strings.Contains(strings.ToLower(sent), "expect") {
			t.Skip("HTTP/2, and interim responses")
		}
		want := requestsIn(sent)
		cut := min(len(sent), int(first))
		again := min(len(sent), cut+int(second))
		whole := 0 // how many requests reached handlers
		for _, pieces := range [][]string{{sent}, {sent[:cut], sent[cut:again], sent[again:]}} {
			synctest.Test(t, func(t *testing.T) {
				got := exchange(t, pieces, slow)
				if len(got.handled) > len(want) || len(got.handled) < whole || !slices.Equal(got.handled, want[:len(got.handled)]) {
					t.Errorf("%q: handlers get %q of %q, as a whole %d", pieces, got.handled, want, whole)
				}
				whole = len(got.handled)
				if got.responses != len(got.handled)+got.reported {
					t.Errorf("%q: of %d responses, %d are from handlers, and %d are reported", pieces, got.responses, len(got.handled), got.reported)
				}
			})
		}
	})
}

// requestsIn returns the requests in a string. Any number of empty lines can precede each request.
func requestsIn(sent string) (found []string) {
	for rest := bufio.NewReader(strings.NewReader(sent)); ; {
		for {
			next, err := rest.Peek(1)
			if err != nil || next[0] != '\r' && next[0] != '\n' {
				break
			}
			_, _ = rest.Discard(1) // it was peeked
		}
		r, err := http.ReadRequest(rest)
		if err != nil {
			return found
		}
		what, err := describe(r)
		if err != nil {
			return found
		}
		found = append(found, what)
	}
}

func describe(r *http.Request) (string, error) {
	body, err := io.ReadAll(r.Body)
	return fmt.Sprintf("%s %s %q\n", r.Method, r.RequestURI, body), err
}

// exchanged describes the requests and responses on a connection.
type exchanged struct {
	handled             []string // by handlers
	responses, reported int
}

var statusLine = regexp.MustCompile(`HTTP/1\.[01] \d{3} `)

// exchange sends each piece to a server after it has handled the previous one or, if slow is true, while a handler still serves it.
func exchange(t *testing.T, pieces []string, slow bool) (result exchanged) {
	t.Helper()
	var mutex sync.Mutex
	server := newServed()
	server.Handler = Handle(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		what, err := describe(r)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if slow {
			<-time.After(time.Millisecond)
		}
		mutex.Lock()
		defer mutex.Unlock()
		result.handled = append(result.handled, what)
		_, _ = io.WriteString(w, "ok") // the client reads
	}))
	received := server.exchange(t, pieces)
	mutex.Lock()
	defer mutex.Unlock()
	for _, times := range server.counts {
		result.reported += times
	}
	result.responses = len(statusLine.FindAllString(received, -1))
	return result
}

// exchange sends each piece after the server has handled the last, as far as it can, and returns the responses. Call it in a bubble.
func (s *served) exchange(t *testing.T, pieces []string) string {
	t.Helper()
	listener := echotest.NewMemoryListener()
	s.serve(t, listener, Cost)
	conn := listener.Dial(t)
	var received strings.Builder
	go func() { _, _ = io.Copy(&received, conn) }()
	send(conn, pieces)
	<-time.After(time.Second)
	_ = s.Close()
	_ = conn.Close()
	<-time.After(time.Second) // net/http waits before it closes some connections
	synctest.Wait()
	return received.String()
}

func send(conn net.Conn, pieces []string) {
	for _, piece := range pieces {
		_ = conn.SetWriteDeadline(time.Now().Add(2 * lingerTimeout)) // the server may have closed the connection
		_, _ = io.WriteString(conn, piece)
		synctest.Wait()
	}
}

// TestConnection_separatesPipelinedHeaders sends requests in pieces that contain parts of two of them. The server must count the whole
// header of the second one, and nothing else.
func TestConnection_separatesPipelinedHeaders(t *testing.T) {
	const plain, post = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: "
	filling := post + "300\r\nConnection: close\r\nX-Pad: " // fills net/http's buffer, without the empty line at its end
	filling += strings.Repeat("p", 4096-len(plain)-len(filling)-2) + "\r\n\r\n" + strings.Repeat("a\n", 150)
	large := "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("x: "+strings.Repeat("v", 280)+"\n", 3*DefaultHeaderBytes/284)
	type pipelined struct {
		pieces []string
		status string // of the second request
	}
	cases := map[string]pipelined{
		"a body after a header": {[]string{plain + filling}, "200"},
		"a long field after a body": {[]string{post + "2\r\n\r\n", "hiGET / HTTP/1.1\r\nHost: a\r\nCookie: c",
			strings.Repeat("c", MaxRequestLine+100) + "\r\n\r\n"}, "200"},
	}
	for _, lines := range [][2]int{{0, 4}, {1, 2}, {1, 3}, {2, 2}} { // net/http keeps the first line breaks in its buffer
		cases[fmt.Sprintf("a large header after %v line breaks", lines)] = pipelined{
			[]string{post + "0\r\n\r\n" + strings.Repeat("\n", lines[0]), strings.Repeat("\n", lines[1]) + large}, "431"}
	}
	for name, c := range cases {
		synctest.Test(t, func(t *testing.T) {
			got := statusLine.FindAllString(newServed().exchange(t, c.pieces), -1)
			if want := []string{"HTTP/1.1 200 ", "HTTP/1.1 " + c.status + " "}; !slices.Equal(got, want) {
				t.Errorf("%s: the responses are %q, want %q", name, got, want)
			}
		})
	}
}
