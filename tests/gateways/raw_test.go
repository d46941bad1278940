package gateways

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck"
)

// answer is a gateway's response to the bytes of a request. Its other fields are empty if the response does not describe the request.
type answer struct {
	Path, Host, Proto, Pod string
	Headers                http.Header
	Request                struct {
		HeaderNames   []string
		ContentLength int64
		Body          struct{ Size int }
		Trailers      http.Header
	}
	response *http.Response
	interim  []int // the statuses of earlier responses
}

// afterInterim separates what is sent at once from what is sent after an interim response.
const afterInterim = "\x00"

// send sends the bytes of a request to a gateway, and reads the response, without code of pathcheck. HOST stands for the gateway's address.
func send(t *testing.T, url, request string) answer {
	t.Helper()
	scheme, address, _ := strings.Cut(url, "://")
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
	dial := dialer.DialContext
	if scheme == "https" {
		dial = (&tls.Dialer{NetDialer: dialer, Config: &tls.Config{InsecureSkipVerify: true}}).DialContext //nolint:gosec // self-signed
	}
	connection, err := dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }() // only the data read so far matters
	if err := connection.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	write := func(text string) { _, _ = io.WriteString(connection, text) } // the gateway may respond before it has read everything
	first, rest, _ := strings.Cut(strings.ReplaceAll(request, "HOST", address), afterInterim)
	go write(first)
	method, _, _ := strings.Cut(request, " ")
	var a answer
	reader := bufio.NewReader(connection)
	for {
		response, err := http.ReadResponse(reader, &http.Request{Method: method}) //nolint:bodyclose // the connection is closed
		if err != nil {
			t.Fatalf("the response to %.100q: %v", request, err)
		}
		if a.response = response; response.StatusCode >= 200 || response.StatusCode == http.StatusSwitchingProtocols {
			break
		}
		a.interim = append(a.interim, response.StatusCode)
		write(rest)
		rest = ""
	}
	if a.response.StatusCode != http.StatusSwitchingProtocols {
		_ = json.NewDecoder(a.response.Body).Decode(&a) // not all responses describe the request
	}
	return a
}

// head returns the header of a request that closes the connection.
func head(method, path string, fields ...string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: HOST\r\n%s\r\n\r\n", method, path, strings.Join(append(fields, "Connection: close"), "\r\n"))
}

// refused returns the value of a fact for a request that a gateway does not forward.
func refused(a answer) string { return "refused " + strconv.Itoa(a.response.StatusCode) }

// kept returns kept if the condition holds, and otherwise the other value.
func kept(holds bool, otherwise string) string {
	if holds {
		return "kept"
	}
	return otherwise
}

// witness determines the value of a fact without pathcheck, from the bytes of requests and what the Echo says about them.
type witness struct {
	fact  string
	value func(send func(request string) answer) string
}

func witnesses() []witness {
	return slices.Concat(pathWitnesses(), fieldWitnesses(), identityWitnesses(), bodyWitnesses(), responseWitnesses(), podWitnesses())
}

func pathWitnesses() []witness {
	of := func(fact, path string, forms map[string]string) witness {
		return witness{fact, func(send func(string) answer) string {
			a := send(head("GET", path))
			if a.Path == "" {
				return refused(a)
			}
			return kept(a.Path == path, forms[a.Path])
		}}
	}
	return []witness{
		of("request.path.encodedSlash", "/raw/a%2Fb", map[string]string{"/raw/a/b": "decoded"}),
		of("request.path.dots", "/raw/a/../b", map[string]string{"/raw/b": "resolved"}),
		of("request.path.doubleSlash", "/raw/a//b", map[string]string{"/raw/a/b": "merged"}),
		{"request.host", func(send func(string) answer) string {
			a := send(head("GET", "/", "X-Raw: HOST"))
			return kept(a.Host == a.Headers.Get("X-Raw"), "changed")
		}},
		{"request.method", func(send func(string) answer) string { // the claims describe requests whose response has no body
			_, encoded, _ := strings.Cut(send(head("HEAD", "/", "Echo-Check: 0123456789abcdef")).response.Header.Get("Echo-Proof"), ".")
			data, _ := base64.RawURLEncoding.DecodeString(encoded) // invalid claims have no method
			return kept(strings.Contains(string(data), `"method":"HEAD"`), "changed HEAD")
		}},
		{"request.version", func(send func(string) answer) string { return send(head("GET", "/")).Proto }},
		{"request.methodOther", func(send func(string) answer) string {
			var others []string
			for _, method := range []string{"TRACE", "PROPFIND", "BREW"} {
				if send(head(method, "/")).Path == "" {
					others = append(others, method)
				}
			}
			return kept(others == nil, "refused "+strings.Join(others, ","))
		}},
	}
}

func fieldWitnesses() []witness {
	spoof := func(name, value string) witness {
		return witness{"client.spoofable[" + name + "]", func(send func(string) answer) string {
			switch received := strings.Join(send(head("GET", "/", name+": "+value)).Headers.Values(name), ", "); {
			case received == value:
				return "yes"
			case strings.HasPrefix(received, value+","):
				return "in front"
			}
			return "not found"
		}}
	}
	return []witness{
		spoof("X-Forwarded-For", "9.9.9.9"), spoof("Forwarded", "for=9.9.9.9"), spoof("X-Forwarded-Proto", "https"),
		{"request.headers.underscores", func(send func(string) answer) string {
			a := send(head("GET", "/", "X_Raw_Name: 1"))
			if a.Path == "" {
				return refused(a)
			}
			return kept(a.Headers["X_raw_name"] != nil, "dropped")
		}},
		{"request.headers.removed", func(send func(string) answer) string {
			received := send(head("GET", "/", fieldsOf(common())...)).Headers
			return cmp.Or(strings.Join(slices.DeleteFunc(common(), func(name string) bool { return received[name] != nil }), ", "), "none")
		}},
		{"request.headers.added", func(send func(string) answer) string {
			var added []string
			for name := range send(head("GET", "/", fieldsOf(common())...)).Headers {
				if name != "Connection" && !slices.Contains(common(), name) {
					added = append(added, name)
				}
			}
			slices.Sort(added)
			return cmp.Or(strings.Join(added, ", "), "none")
		}},
		{"request.headers.size", func(send func(string) answer) string {
			for _, size := range []int{31, 24, 16, 12, 8, 4} {
				if a := send(head("GET", "/", "X-Raw: "+strings.Repeat("x", size<<10))); len(a.Headers.Get("X-Raw")) == size<<10 {
					return fmt.Sprintf("%dKi", size)
				}
			}
			return ""
		}},
		{"request.headers.duplicates", func(send func(string) answer) string {
			received := send(head("GET", "/", "X-Raw: 1", "X-Raw: 2")).Headers["X-Raw"]
			return kept(slices.Equal(received, []string{"1", "2"}), "merged")
		}},
		{"request.headers.case", func(send func(string) answer) string {
			names := send(head("GET", "/", "x-RaW: 1")).Request.HeaderNames
			for name, value := range map[string]string{"x-RaW": "kept", "x-raw": "lower", "X-Raw": "canonical"} {
				if slices.Contains(names, name) {
					return value
				}
			}
			return ""
		}},
		{"client.removable", func(send func(string) answer) string {
			var added []string
			for name := range send("GET / HTTP/1.1\r\nHost: HOST\r\n\r\n").Headers {
				if strings.HasPrefix(name, "X-") {
					added = append(added, name)
				}
			}
			value := "none"
			for _, name := range added { // some gateways refuse to forward some names
				switch a := send("GET / HTTP/1.1\r\nHost: HOST\r\nConnection: close, " + name + "\r\n\r\n"); {
				case a.Path == "" && value == "none":
					value = refused(a)
				case a.Path != "" && a.Headers[name] == nil:
					return "yes"
				case a.Path != "":
					value = "not found"
				}
			}
			return value
		}},
	}
}

// common returns the names of headers that clients often send.
func common() []string {
	return []string{"Authorization", "Cookie", "Origin", "Referer", "If-None-Match", "Cache-Control", "Prefer", "User-Agent", "Accept",
		"Accept-Encoding"}
}

func fieldsOf(names []string) []string {
	var fields []string
	for _, name := range names {
		fields = append(fields, name+": 1")
	}
	return fields
}

func identityWitnesses() []witness {
	source := func(send func(string) answer) string { // of the client's address
		if send(head("GET", "/")).Headers.Get("X-Forwarded-For") == clientAddress {
			return "X-Forwarded-For"
		}
		return "none"
	}
	return []witness{
		{"client.address", func(send func(string) answer) string { return kept(source(send) != "none", "lost") }},
		{"client.address.by", source},
		{"client.requestID", func(send func(string) answer) string {
			value := kept(send(head("GET", "/", "X-Request-Id: raw")).Headers.Get("X-Request-Id") == "raw", "replaced")
			if send(head("GET", "/")).Headers.Get("X-Request-Id") != "" {
				value += ", else generated"
			}
			return value
		}},
	}
}

func bodyWitnesses() []witness {
	return []witness{
		{"body.max", func(send func(string) answer) string {
			for _, size := range []int{2, 1} {
				request := head("POST", "/", fmt.Sprintf("Content-Length: %d", size<<20)) + strings.Repeat("x", size<<20)
				if send(request).Request.Body.Size == size<<20 {
					return fmt.Sprintf("%dMi", size)
				}
			}
			return ""
		}},
		{"body.chunked", func(send func(string) answer) string {
			var values []string
			for _, size := range []int{1000, 20 << 10} {
				request := head("POST", "/", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, strings.Repeat("x", size))
				values = append(values, kept(send(request).Request.ContentLength == -1, "length set"))
			}
			if values[0] != values[1] {
				return values[0] + " if short, else " + values[1]
			}
			return values[0]
		}},
		{"body.expect", func(send func(string) answer) string {
			a := send(head("POST", "/", "Expect: 100-continue", "Content-Length: 1") + afterInterim + "x")
			if !slices.Contains(a.interim, http.StatusContinue) {
				return refused(a)
			}
			return kept(a.Headers.Get("Expect") != "", "sent by proxy")
		}},
		{"request.trailers", func(send func(string) answer) string {
			a := send(head("POST", "/", "Transfer-Encoding: chunked", "Trailer: X-Sum") + "1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n")
			if a.Path == "" {
				return refused(a)
			}
			return kept(a.Request.Trailers.Get("X-Sum") == "1", "dropped")
		}},
	}
}

func responseWitnesses() []witness {
	return []witness{
		{"response.status", func(send func(string) answer) string {
			var others []string
			for _, status := range []string{"201", "400", "401", "403", "404", "418", "429", "500", "502", "503", "504"} {
				if a := send(head("GET", "/raw?echo.status="+status)); a.Path == "" || !strings.HasPrefix(a.response.Status, status) {
					others = append(others, status)
				}
			}
			return kept(others == nil, "replaced "+strings.Join(others, ","))
		}},
		{"response.compression", func(send func(string) answer) string {
			for _, kind := range []string{"application/json", "text/html", "text/plain"} {
				fields := []string{"Accept-Encoding: gzip", "Accept: " + kind, "X-Long: " + strings.Repeat("x", 4<<10)}
				if coding := send(head("GET", "/", fields...)).response.Header.Get("Content-Encoding"); coding != "" {
					return kind + ": " + coding
				}
			}
			return "none"
		}},
		{"response.earlyHints", func(send func(string) answer) string {
			a := send(head("GET", "/?echo.early-hints=true"))
			if a.Path == "" {
				return refused(a)
			}
			return kept(slices.Contains(a.interim, http.StatusEarlyHints), "dropped")
		}},
		{"websocket.upgrade", func(send func(string) answer) string {
			a := send("GET /-/ws HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
				"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nEcho-Check: 0123456789abcdef\r\n\r\n")
			switch {
			case a.response.StatusCode == http.StatusSwitchingProtocols:
				return "yes"
			case a.response.Header.Get("Echo-Proof") != "": // the Echo received a request without Upgrade
				return "no"
			}
			return refused(a)
		}},
		{"loadBalancing.keepAlive", func(send func(string) answer) string {
			if send("GET / HTTP/1.1\r\nHost: HOST\r\n\r\n").response.Close {
				return "no"
			}
			return "yes"
		}},
	}
}

func podWitnesses() []witness {
	count := func(send func(string) answer, fields ...string) int {
		pods := map[string]bool{}
		for range 30 {
			pods[send(head("GET", "/", fields...)).Pod] = true
		}
		return len(pods)
	}
	return []witness{
		{"loadBalancing.pods", func(send func(string) answer) string { return strconv.Itoa(count(send)) }},
		{"loadBalancing.affinity", func(send func(string) answer) string {
			if count(send) == 1 {
				return "one pod"
			}
			for _, each := range send(head("GET", "/")).response.Cookies() {
				if count(send, "Cookie: "+each.Name+"="+each.Value) == 1 {
					return "cookie"
				}
			}
			return "none"
		}},
	}
}

// compareWitnesses compares the facts in a report, except one that varies, with what raw requests show.
func compareWitnesses(t *testing.T, url, varies string, report *pathcheck.Report) {
	t.Helper()
	for _, each := range witnesses() {
		if each.fact == varies {
			continue
		}
		want := each.value(func(request string) answer { return send(t, url, request) })
		if got := cell(report, each.fact); got != want {
			t.Errorf("%s is %q, but raw requests show %q", each.fact, got, want)
		}
	}
}
