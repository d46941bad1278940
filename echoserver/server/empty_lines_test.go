package server

import (
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// afterEmptyLines returns a function that sends a request with some line breaks after it, and then, after the response, more line breaks and
// a header that does not end. net/http skips the line breaks, and keeps the first ones in its buffer until the header arrives.
func afterEmptyLines(first, second, size int) func(net.Conn) error {
	return func(conn net.Conn) error {
		request := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" + strings.Repeat("\n", first)
		if _, err := io.WriteString(conn, request); err != nil {
			return err
		}
		if _, err := conn.Read(make([]byte, 4096)); err != nil {
			return err
		}
		header := strings.Repeat("\n", second) + "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("x: "+strings.Repeat("v", 280)+"\n", size/284)
		_, err := io.WriteString(conn, header)
		return err
	}
}

func TestNewServer_limitsHeaderAfterEmptyLines(t *testing.T) {
	url := serve(t, handlerOf(t)).URL
	for _, lines := range [][2]int{{0, 4}, {1, 2}, {1, 3}, {2, 2}} {
		conn := echotest.Dial(t, url)
		if err := afterEmptyLines(lines[0], lines[1], 3*transport.DefaultHeaderBytes)(conn); err != nil {
			t.Fatal(err)
		}
		if got := readStatus(t, conn); got != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%v line breaks: the status is %d", lines, got)
		}
	}
}

// TestNewServer_readsPipelinedBody sends two requests at once. The second header, without the empty line at its end, fills net/http's buffer.
func TestNewServer_readsPipelinedBody(t *testing.T) {
	first, second := "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n", "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 300\r\nConnection: close\r\nX-Pad: "
	second += strings.Repeat("p", 4096-len(first)-len(second)-2) + "\r\n\r\n" + strings.Repeat("a\n", 150)
	if got := echotest.Exchanged(t, echotest.Dial(t, serve(t, handlerOf(t)).URL), first+second); strings.Count(got, "HTTP/1.1 200") != 2 {
		t.Errorf("the responses are %q", got)
	}
}

// TestRespond_sendsEarlyHintsOnlyUnderFull checks that only the Full policy allows status 103 before the final response.
func TestRespond_sendsEarlyHintsOnlyUnderFull(t *testing.T) {
	for policy, want := range map[string]int{"Full": http.StatusOK, "Safe": http.StatusBadRequest, "None": http.StatusOK} {
		server := serve(t, handlerOf(t, "ECHO_CONTROLS="+policy))
		for proto, client := range echotest.Clients(t) {
			interim := 0
			trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
				interim = code
				return nil
			}}
			r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, server.URL+"/?echo.early-hints=true",
				http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != want || (interim == http.StatusEarlyHints) != (policy == "Full") {
				t.Errorf("%s, %s: status %d after %d", policy, proto, response.StatusCode, interim)
			}
		}
	}
}
