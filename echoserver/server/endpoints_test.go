package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// endpoint is a request to one of the server's endpoints.
type endpoint struct {
	name, method, path, body string
	headers                  []string
	status                   int
	applied                  string // the controls in endpointControls that apply
	ignored                  string // the controls that are ignored; all others are rejected
	isError                  bool   // whether the server rejects the request
	only                     string // the only protocol, unless it is empty
}

const endpointControls = "status delay set-header size format failures percentage connection early-hints handshake grpc-status bogus"

// endpoints returns a request to each endpoint, for each protocol of calls, and for each kind of rejection.
func endpoints() []endpoint {
	const forHTTP = "status size format failures percentage handshake"
	message, unary := string(echotest.GRPCMessage("")), "/echo.v1.Echo/Unary"
	grpcCall := []string{"Content-Type", "application/grpc", "TE", "trailers"}
	web := []string{"Content-Type", "application/grpc-web+proto"}
	connect := []string{"Content-Type", "application/json", "Connect-Protocol-Version", "1"}
	handshake := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key",
		"dGhlIHNhbXBsZSBub25jZQ=="}
	const call, stream, other = "delay set-header grpc-status", "status delay set-header", forHTTP + " delay grpc-status"
	return []endpoint{
		{name: "an echo", method: "GET", path: "/", status: 200, applied: "status delay set-header size format failures percentage"},
		{name: "the page of WebSockets", method: "GET", path: "/-/ws", status: 200, applied: stream, ignored: "handshake"},
		{name: "a WebSocket", method: "GET", path: "/-/ws", headers: handshake, status: 101, applied: stream + " handshake", only: "HTTP/1.1"},
		{name: "a bad handshake", method: "GET", path: "/-/ws", headers: slices.Concat(handshake, []string{"Sec-WebSocket-Key", "x"}),
			status: 400, isError: true, only: "HTTP/1.1"},
		{name: "events", method: "GET", path: "/a/-/sse", status: 200, applied: stream},
		{name: "a bad method", method: "POST", path: "/-/sse", status: 405, isError: true},
		{name: "a body", method: "POST", path: "/-/body", body: "hello", status: 200, applied: stream},
		{name: "a digest", method: "POST", path: "/-/body?digest", body: "hello", status: 200, applied: stream},
		{name: "a record", method: "GET", path: "/-/arrivals?nonce=0123456789abcdef", status: 200, applied: "set-header", ignored: other},
		{name: "no record", method: "GET", path: "/-/arrivals", status: 400, isError: true},
		{name: "a probe", method: "GET", path: "/-/readyz", status: 200, applied: "set-header", ignored: other},
		{name: "an unknown path", method: "GET", path: "/-/a", status: 404, isError: true},
		{name: "an invalid control", method: "GET", path: "/?echo.status=1", status: 400, isError: true},
		{name: "no such range", method: "GET", path: "/?echo.size=9", headers: []string{"Range", "bytes=-0"}, status: 416, isError: true},
		{name: "a body that is too large", method: "POST", path: "/", body: echotest.Payload(exchange.MaxBody + 1), status: 413, isError: true},
		{name: "gRPC", method: "POST", path: unary, body: message, headers: grpcCall, status: 200, applied: call, ignored: forHTTP,
			only: "HTTP/2.0"},
		{name: "gRPC health", method: "POST", path: "/grpc.health.v1.Health/Check", body: message, headers: grpcCall, status: 200,
			applied: "set-header", ignored: other, only: "HTTP/2.0"},
		{name: "gRPC-Web", method: "POST", path: unary, body: message, headers: web, status: 200, applied: call, ignored: forHTTP},
		{name: "Connect", method: "POST", path: unary, body: "{}", headers: connect, status: 200, applied: call, ignored: forHTTP},
		{name: "a Connect error", method: "POST", path: unary, body: "x", headers: connect, status: 400, isError: true},
	}
}

// send sends a request to an endpoint with more headers, and returns the response with what is known of its body.
func (x *endpoint) send(t *testing.T, client *http.Client, url string, more ...string) echotest.Reply {
	t.Helper()
	headers := slices.Concat(x.headers, more)
	if !slices.Contains(headers, "websocket") {
		got := echotest.Open(t, client, x.method, url+x.path, strings.NewReader(x.body), headers...)
		if !strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream") { // which does not end
			return got.Whole(t)
		}
		_ = got.Body.Close()
		return got
	}
	connection := echotest.Dial(t, url)
	fields := "Host: a\r\n"
	for i := 0; i < len(headers); i += 2 {
		fields += headers[i] + ": " + headers[i+1] + "\r\n"
	}
	if _, err := io.WriteString(connection, x.method+" "+x.path+" HTTP/1.1\r\n"+fields+"\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return echotest.Reply{Response: response}
}

// eachEndpoint calls check for each endpoint and protocol.
func eachEndpoint(t *testing.T, check func(name string, x *endpoint, client *http.Client)) {
	t.Helper()
	for proto, client := range echotest.Clients(t) {
		for _, x := range endpoints() {
			if x.only == "" || x.only == proto {
				check(proto+", "+x.name, &x, client)
			}
		}
	}
}

// TestHandler_addsDefaultHeadersToEachResponse also checks that the headers of the settings replace the server's only in echoes, and that
// the values have no spaces around them, for which HTTP/2 clients reject a response.
func TestHandler_addsDefaultHeadersToEachResponse(t *testing.T) {
	server := serve(t, handlerOf(t, `ECHO_RESPONSE_HEADERS=[{"name":"access-control-allow-origin","value":" *\t"},{"name":"X-A","value":"1 "},
		{"name":"x-a","value":" 2"},{"name":"vary","value":"Origin "},{"name":"Cache-Control","value":"max-age=60"},
		{"name":"Expires","value":"0"},{"name":"content-type","value":"text/csv"},{"name":"X-Content-Type-Options","value":"sniff"},
		{"name":"Content-Security-Policy","value":"default-src *"}]`))
	eachEndpoint(t, func(name string, x *endpoint, client *http.Client) {
		got := x.send(t, client, server.URL)
		isEcho := x.name == "an echo"
		applied := "set-header=access-control-allow-origin, set-header=X-A, set-header=x-a, set-header=vary"
		header := got.Header
		if got.StatusCode != x.status || header.Get("Access-Control-Allow-Origin") != "*" || fmt.Sprint(header["X-A"]) != "[1 2]" ||
			strings.Count(header.Get("Vary"), ",Origin") != 1 ||
			!isEcho && header.Get("X-Echo-Applied") != applied || isEcho && !strings.HasPrefix(header.Get("X-Echo-Applied"), applied) {
			t.Errorf("%s: the response is %d with %q", name, got.StatusCode, header)
		}
		if isEcho != (header.Get("Cache-Control") == "max-age=60") || isEcho != (header.Get("Expires") == "0") ||
			isEcho != (header.Get("Content-Type") == "text/csv") || isEcho != (header.Get("X-Content-Type-Options") == "sniff") ||
			isEcho != (header.Get("Content-Security-Policy") == "default-src *") ||
			!isEcho && (header.Get("Cache-Control") != "no-store" || header.Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s: the headers are %q", name, header)
		}
		checkValues(t, name, header, got.Trailer)
	})
}

// checkValues checks that no value begins or ends with a space.
func checkValues(t *testing.T, name string, fields ...http.Header) {
	t.Helper()
	for _, each := range fields {
		for field, values := range each {
			for _, value := range values {
				if strings.Trim(value, " \t") != value {
					t.Errorf("%s: %s is %q", name, field, value)
				}
			}
		}
	}
}

// TestHandler_trimsStatusOfCalls causes a status message that ends with a space.
func TestHandler_trimsStatusOfCalls(t *testing.T) {
	server := serve(t, handlerOf(t))
	for name, headers := range map[string][]string{"an unknown compression": {"Grpc-Encoding", "gzip"}, "none": nil} {
		for path, body := range map[string]string{"/echo.v1.Echo/Unary": "", "/grpc.health.v1.Health/Check": "\x0a\x02a ", "/a%20": ""} {
			got := echotest.Send(t, echotest.Clients(t)["HTTP/2.0"], http.MethodPost, server.URL+path, string(echotest.GRPCMessage(body)),
				append([]string{"Content-Type", "application/grpc", "TE", "trailers"}, headers...)...)
			checkValues(t, name+" "+path, got.Header, got.Trailer)
			if encodings := got.Header["Grpc-Accept-Encoding"]; strings.Join(encodings, "") == "" && len(encodings) > 0 {
				t.Errorf("%s %s: the encodings are %q", name, path, encodings)
			}
		}
	}
}

// TestHandler_controlsEachEndpoint sends each control to each endpoint. A control must either apply, and be reported, or be rejected. Only
// where a gateway may add controls to all requests, controls for others are ignored.
func TestHandler_controlsEachEndpoint(t *testing.T) {
	server := serve(t, handlerOf(t))
	values := map[string][]string{"status": {"X-Echo-Status", "418"}, "delay": {"X-Echo-Delay", "1ms"},
		"set-header": {"X-Echo-Set-Header", "X-B: 1"}, "size": {"X-Echo-Size", "5"}, "format": {"X-Echo-Format", "text"}, "failures": {"X-Echo-Failures", "1000"},
		"percentage": {"X-Echo-Percentage", "100", "X-Echo-Failures", "1000"}, "connection": {"X-Echo-Connection", "reset"},
		"early-hints": {"X-Echo-Early-Hints", "true"}, "handshake": {"X-Echo-Handshake", "true"}, "grpc-status": {"X-Echo-Grpc-Status", "5"},
		"bogus": {"X-Echo-Bogus", "1"}}
	eachEndpoint(t, func(name string, x *endpoint, client *http.Client) {
		if x.isError {
			return
		}
		for control := range strings.FieldsSeq(endpointControls) {
			got := x.send(t, client, server.URL, values[control]...)
			name, applied := name+", "+control, got.Header.Get("X-Echo-Applied")
			isRejected := got.StatusCode == http.StatusBadRequest || slices.Contains(grpcStatus(got), "3")
			switch {
			case slices.Contains(strings.Fields(x.applied), control):
				if isRejected || !strings.Contains(applied, control+"=") {
					t.Errorf("%s: the response is %d %q with %q", name, got.StatusCode, got.Text, got.Header)
				}
				checkEffect(t, name, control, got)
			case slices.Contains(strings.Fields(x.ignored), control):
				if got.StatusCode != x.status || applied != "" || isRejected {
					t.Errorf("%s: the response is %d %q with %q", name, got.StatusCode, got.Text, got.Header)
				}
			case !isRejected || applied != "" || got.Header.Get("Cache-Control") != "no-store":
				t.Errorf("%s: the response is %d %q with %q", name, got.StatusCode, got.Text, got.Header)
			}
		}
	})
}

// grpcStatus returns the status of a call, which is in the header if there are no messages, in the trailer, or, in gRPC-Web, in the body.
func grpcStatus(got echotest.Reply) []string {
	_, inBody, _ := strings.Cut(got.Text, "grpc-status: ")
	inBody, _, _ = strings.Cut(inBody, "\r\n")
	return []string{got.Header.Get("Grpc-Status"), got.Trailer.Get("Grpc-Status"), inBody}
}

// checkEffect checks the effect of a control that was applied.
func checkEffect(t *testing.T, name, control string, got echotest.Reply) {
	t.Helper()
	switch {
	case control == "status" && got.StatusCode != http.StatusTeapot,
		control == "failures" && got.StatusCode != http.StatusServiceUnavailable,
		control == "set-header" && got.Header.Get("X-B") != "1",
		control == "size" && got.Text != "01234",
		control == "format" && got.Header.Get("Content-Type") != transport.PlainText,
		control == "grpc-status" && !slices.Contains(grpcStatus(got), "5") && !strings.Contains(got.Text, "not_found"):
		t.Errorf("%s: the response is %d %q with %q", name, got.StatusCode, got.Text, got.Header)
	}
}
