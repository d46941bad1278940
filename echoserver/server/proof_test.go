package server

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// webEnviron makes a server an Echo with the name web.
func webEnviron(more ...string) []string {
	return append([]string{"ECHO_POD_NAMESPACE=shop", "ECHO_SERVICE_NAME=web"}, more...)
}

func web() proof.Echo { return proof.Echo{Namespace: "shop", Name: "web"} }

// claimsOf returns the claims in a header, which must prove that the Echo received the nonce.
func claimsOf(t *testing.T, name, nonce string, header http.Header) *proof.Claims {
	t.Helper()
	values := header[proof.ResponseHeader]
	if len(values) != 1 {
		t.Errorf("%s: the proofs are %q", name, values)
		return &proof.Claims{}
	}
	c, ok := web().Verify(nonce, values[0])
	if !ok {
		t.Errorf("%s: %q is no proof", name, values[0])
		return &proof.Claims{}
	}
	return c
}

// checkFields checks that claims cover each field of a header that a server sets for the client.
func checkFields(t *testing.T, name string, c *proof.Claims, header http.Header) {
	t.Helper()
	sent := maps.Clone(header)
	for _, own := range []string{"Connection", "Content-Length", "Date", "Trailer", "Transfer-Encoding", "Upgrade", proof.ResponseHeader} {
		delete(sent, own)
	}
	if got, want := slices.Sorted(maps.Keys(c.Fields)), slices.Sorted(maps.Keys(sent)); !slices.Equal(got, want) {
		t.Errorf("%s: the claims cover the fields %q of %q", name, got, want)
	}
	for field, values := range sent {
		if c.Fields[field] != proof.FieldDigest(values) {
			t.Errorf("%s: the claim about %s is %s, the values are %q", name, field, c.Fields[field], values)
		}
	}
}

// TestHandler_signsResponses compares the claims about each kind of response with the response.
func TestHandler_signsResponses(t *testing.T) {
	const nothing, whole, described = 0, 1, 2 // what is known of the body
	type request struct {
		method, target, body string
		headers              []string
		environ              []string
		status, known        int
	}
	const unary = "/echo.v1.Echo/Unary"
	message, grpcCall := string(echotest.GRPCMessage("")), []string{"Content-Type", "application/grpc", "TE", "trailers"}
	connect := []string{"Content-Type", "application/json", "Connect-Protocol-Version", "1"}
	for name, c := range map[string]request{
		"an echo":            {"POST", "/shop?a=b", "hello", nil, nil, 200, described},
		"compact JSON":       {"GET", "/", "", []string{"Accept", "application/json"}, nil, 200, described},
		"a long echo":        {"POST", "/", echotest.Payload(100_000), nil, nil, 200, described},
		"a page":             {"GET", "/", "", []string{"Accept", "text/html"}, nil, 200, nothing},
		"a text":             {"GET", "/", "", []string{"Accept", "text/plain"}, nil, 200, whole},
		"HEAD":               {"HEAD", "/", "", nil, nil, 200, nothing},
		"no content":         {"GET", "/?echo.status=204", "", nil, nil, 204, nothing},
		"headers":            {"GET", "/?echo.set-header=X-A:1&echo.set-header=X-A:2&echo.set-header=X-B:", "", nil, nil, 200, described},
		"a fixed body":       {"GET", "/", "", nil, []string{`ECHO_RESPONSE_BODY={"path":"/"}`}, 200, whole},
		"generated text":     {"GET", "/?echo.size=100000", "", nil, nil, 200, nothing},
		"a range":            {"GET", "/?echo.size=100", "", []string{"Range", "bytes=1-2"}, nil, 206, nothing},
		"an invalid range":   {"GET", "/?echo.size=100", "", []string{"Range", "bytes=200-"}, nil, 416, nothing},
		"an invalid control": {"GET", "/?echo.status=1", "", nil, nil, 400, whole},
		"a large body":       {"POST", "/", echotest.Payload(exchange.MaxBody + 1), nil, nil, 413, whole},
		"a large header":     {"GET", "/", "", []string{"X-A", strings.Repeat("x", 34_000)}, nil, 431, whole},
		"an unknown path":    {"GET", "/-/unknown", "", nil, nil, 404, whole},
		"a probe":            {"GET", "/-/livez", "", nil, nil, 200, whole},
		"a stream":           {"POST", "/-/body", "hello", nil, nil, 200, nothing},
		"a digest":           {"POST", "/-/body?digest", "hello", nil, nil, 200, whole},
		"events without one": {"HEAD", "/-/sse", "", nil, nil, 200, nothing},
		"a record":           {"GET", "/-/arrivals?nonce=ffffffffffffffff", "", nil, nil, 200, whole},
		"no record":          {"GET", "/-/arrivals?nonce=x", "", nil, nil, 400, whole},
		"a gRPC call":        {"POST", unary, message, grpcCall, nil, 200, nothing},
		"a gRPC error":       {"POST", unary, message, append(grpcCall, "X-Echo-Grpc-Status", "14"), nil, 200, nothing},
		"an unknown call":    {"POST", "/unknown", "", grpcCall, nil, 200, nothing},
		"a Connect call":     {"POST", unary, "{}", connect, nil, 200, nothing},
		"a Connect error":    {"POST", unary, "x", []string{"Content-Type", "text/x", "Connect-Protocol-Version", "1"}, nil, 415, nothing},
	} {
		h := handlerOf(t, webEnviron(c.environ...)...)
		server := serve(t, h)
		for i, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
			overHTTP1 := proto == "HTTP/1.1"
			if overHTTP1 && (slices.Contains(c.headers, "TE") || c.status == 431) {
				continue // gRPC needs HTTP/2, and over HTTP/1.1, no handler receives a header that is too large
			}
			nonce, name := fmt.Sprintf("%016x", i), name+", "+proto
			got := echotest.Send(t, echotest.Clients(t)[proto], c.method, server.URL+c.target, c.body,
				append([]string{proof.RequestHeader, web().Ask(nonce)}, c.headers...)...)
			claims := claimsOf(t, name, nonce, got.Header)
			if got.StatusCode != c.status || claims.Status != c.status || claims.Method != c.method || claims.Attempt != 1 ||
				len(claims.Server) != 16 || claims.Describes != (c.known == described) || (claims.Body == "") != (c.known == nothing) ||
				claims.Body != "" && claims.Body != proof.Digest([]byte(got.Text)) {
				t.Errorf("%s: the response is %d %.100q, the claims are %+v", name, got.StatusCode, got.Text, claims)
			}
			checkFields(t, name, claims, got.Header)
			isPart := c.status == 413 || c.status == 415 || c.target == "/-/body" || strings.HasPrefix(name, "a gRPC error")
			if claims.Request.Method != c.method || !isPart && claims.Request.Size != int64(len(c.body)) {
				t.Errorf("%s: of %d bytes, the claims say %+v", name, len(c.body), claims.Request)
			}
		}
	}
}

// TestHandler_signsOnlyIfAsked sends requests that must not get a proof.
func TestHandler_signsOnlyIfAsked(t *testing.T) {
	h := handlerOf(t)
	const nonce = "0123456789abcdef"
	for name, headers := range map[string][]string{"no nonce": nil, "two": {proof.RequestHeader, nonce, proof.RequestHeader, nonce},
		"not a nonce": {proof.RequestHeader, "x"}, "a list": {proof.RequestHeader, nonce + "," + nonce}} {
		if got := echotest.Record(h, "/", headers...).Header()[proof.ResponseHeader]; got != nil {
			t.Errorf("%s: the proof is %q", name, got)
		}
	}
	if got := h.arrivals.Record(nonce); got.Count != 0 {
		t.Errorf("recorded is %+v", got)
	}
}

// TestHandler_signsFinalResponse checks that a response with status 103 contains no proof, and that controls cannot replace the proof.
func TestHandler_signsFinalResponse(t *testing.T) {
	server := serve(t, handlerOf(t, webEnviron("ECHO_CONTROLS=Full")...))
	const nonce = "0123456789abcdef"
	for proto, client := range echotest.Clients(t) {
		interim := 0
		trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			if interim = code; header.Get(proof.ResponseHeader) != "x" {
				t.Errorf("%s: the response %d contains the proof %q", proto, code, header[proof.ResponseHeader])
			}
			return nil
		}}
		url := server.URL + "/?echo.early-hints=true&echo.status=418&echo.set-header=Echo-Proof:x"
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(proof.RequestHeader, web().Ask(nonce))
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if claims := claimsOf(t, proto, nonce, response.Header); claims.Status != http.StatusTeapot || interim != http.StatusEarlyHints {
			t.Errorf("%s: after status %d, the claims are %+v", proto, interim, claims)
		}
	}
}

// TestEchoHandshake_signs checks the proofs of a WebSocket: the header's, and the first message's.
func TestEchoHandshake_signs(t *testing.T) {
	h := handlerOf(t, webEnviron()...)
	const nonce = "0123456789abcdef"
	for target, isDescribed := range map[string]bool{"/-/ws": false, "/shop/-/ws?echo.handshake=true": true} {
		connection, header := dialWebSocket(t, serve(t, h).URL+target, &websocket.DialOptions{Subprotocols: []string{"a"},
			HTTPHeader: http.Header{proof.RequestHeader: {web().Ask(nonce)}}})
		claims := claimsOf(t, target, nonce, header)
		if claims.Status != http.StatusSwitchingProtocols || claims.Body != "" || claims.Describes ||
			claims.Fields["Sec-Websocket-Accept"] == "" {
			t.Errorf("%s: the claims are %+v", target, claims)
		}
		checkFields(t, target, claims, header)
		if !isDescribed {
			continue
		}
		_, message, err := connection.Read(t.Context())
		value, description := proof.Split(message)
		inner := claimsOf(t, "message", nonce, http.Header{proof.ResponseHeader: {value}})
		if err != nil || inner.Status != http.StatusSwitchingProtocols || !inner.Describes || inner.Body != proof.Digest(description) ||
			inner.Server != claims.Server || inner.Attempt != claims.Attempt || inner.Method != http.MethodGet || inner.Fields != nil ||
			decode(t, string(description)).Path != target {
			t.Errorf("the message is %q with the claims %+v, %v", message, inner, err)
		}
		_ = connection.CloseNow()
	}
}

// recordOf asks for the record of a nonce.
func recordOf(t *testing.T, client *http.Client, url, nonce string) proof.Record {
	t.Helper()
	got := echotest.Send(t, client, http.MethodGet, url+"?nonce="+nonce, "", proof.RequestHeader, "00000000000000000000000000000000")
	var record proof.Record
	if err := json.Unmarshal([]byte(got.Text), &record); err != nil || got.StatusCode != http.StatusOK ||
		got.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("the record is %d %q, %v", got.StatusCode, got.Text, err)
	}
	return record
}

// TestRecord asks for the record of a nonce before, during, and after requests, under a path prefix and without controls.
func TestRecord(t *testing.T) {
	server := serve(t, handlerOf(t, webEnviron("ECHO_CONTROLS=None")...))
	url := server.URL + "/shop/-/arrivals"
	for proto, client := range echotest.Clients(t) {
		nonce := fmt.Sprintf("%032x", proto)
		if got := recordOf(t, client, url, nonce); got.Count != 0 || got.Arrivals == nil || len(got.Arrivals) > 0 || len(got.Server) != 16 {
			t.Errorf("%s: an unknown nonce has the record %+v", proto, got)
		}
		body, more := io.Pipe()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			echotest.Send(t, client, http.MethodGet, server.URL+"/", "", proof.RequestHeader, nonce)
			echotest.Open(t, client, http.MethodPut, server.URL+"/-/body?digest", body, proof.RequestHeader, web().Ask(nonce)).Whole(t)
		}()
		for i, piece := range []string{"he", "llo"} {
			if _, err := more.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
			echotest.Until(t, "a piece is recorded", func() bool {
				got := recordOf(t, client, url, nonce)
				return got.Count == 2 && got.Arrivals[1].Size == int64(2+3*i) && got.Arrivals[1].Pieces == i+1
			})
		}
		_ = more.Close()
		<-sent
		got := recordOf(t, client, url, nonce)
		if got.Count != 2 || len(got.Arrivals) != 2 || got.Arrivals[0] != (proof.Arrival{Method: http.MethodGet}) {
			t.Fatalf("%s: the record is %+v", proto, got)
		}
		if last := got.Arrivals[1]; last.Method != http.MethodPut || last.Length != -1 || last.Size != 5 || last.First > last.Last {
			t.Errorf("%s: the second request is %+v", proto, last)
		}
	}
}
