package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestGRPCContentTypes(t *testing.T) {
	server := serve(t, handlerOf(t))
	for name, c := range map[string]struct {
		proto, method, contentType string
		want                       string
	}{
		"gRPC":                     {"HTTP/2.0", "POST", "application/grpc", "200 application/grpc"},
		"with protobuf":            {"HTTP/2.0", "POST", "application/grpc+proto", "200 application/grpc"},
		"with a parameter":         {"HTTP/2.0", "POST", "Application/gRPC; a=b", "200 application/grpc"},
		"with JSON":                {"HTTP/2.0", "POST", "application/grpc+json", "415 " + plainText},
		"gRPC-Web":                 {"HTTP/2.0", "POST", "application/grpc-web+proto", "415 " + plainText},
		"another method":           {"HTTP/2.0", "PUT", "application/grpc", "200 application/json"},
		"another type":             {"HTTP/2.0", "POST", "application/gr", "200 application/json"},
		"HTTP/1.1":                 {"HTTP/1.1", "POST", "application/grpc", "200 application/json"},
		"gRPC-Web with HTTP/1.1":   {"HTTP/1.1", "POST", "application/grpc-web", "200 application/json"},
		"JSON, which is no gRPC":   {"HTTP/2.0", "POST", "application/json", "200 application/json"},
		"a type that is not valid": {"HTTP/2.0", "POST", "application/grpc;;", "200 application/grpc"},
	} {
		got := send(t, clients(t)[c.proto], c.method, server.URL+unaryPath, "", "Content-Type", c.contentType)
		if answer := got.Status[:4] + got.Header.Get("Content-Type"); answer != c.want {
			t.Errorf("%s: the response is %s, want %s", name, answer, c.want)
		}
	}
}

// TestGRPCStatus checks what grpc-go's client cannot do wrong.
func TestGRPCStatus(t *testing.T) {
	server, client := serve(t, handlerOf(t)), clients(t)["HTTP/2.0"]
	hello := echoRequest("hello")
	for name, c := range map[string]struct {
		path    string
		sent    string
		headers []string
		want    string
	}{
		"no message":              {unaryPath, "", nil, "13 the request has no message"},
		"half a prefix":           {unaryPath, string(hello[:3]), nil, "13 the request ended within a message"},
		"half a message":          {unaryPath, string(hello[:8]), nil, "13 the request ended within a message"},
		"compressed":              {unaryPath, "\x01" + string(hello[1:]), nil, "13 the message is compressed, but the call has no grpc-encoding"},
		"identity":                {unaryPath, string(hello), []string{"Grpc-Encoding", "identity"}, "0 "},
		"not protobuf":            {unaryPath, "\x00\x00\x00\x00\x01\x0b", nil, "3 the message is not valid protobuf"},
		"not UTF-8":               {unaryPath, "\x00\x00\x00\x00\x03\x0a\x01\xff", nil, "3 message: not UTF-8; use data for bytes"},
		"two messages":            {unaryPath, string(hello) + string(hello), nil, "0 "},
		"a bad timeout":           {unaryPath, string(hello), []string{"Grpc-Timeout", "1x"}, `13 grpc-timeout: "1x" is not at most 8 digits and one of H, M, S, m, u and n`},
		"a timeout that is over":  {unaryPath, string(hello), []string{"Grpc-Timeout", "1n"}, "4 the deadline of the call was exceeded"},
		"two controls":            {unaryPath, string(hello), []string{"X-Echo-Grpc-Status", "1", "X-Echo-Grpc-Status", "2"}, "3 x-echo-grpc-status: specified more than once"},
		"a path with a query":     {unaryPath + "?a", string(hello), nil, "12 unknown method /echo.v1.Echo/Unary?a"},
		"an encoded path":         {"/echo.v1.Echo/%55nary", string(hello), nil, "12 unknown method /echo.v1.Echo/%2555nary"},
		"a path with a character": {"/ü%", string(hello), nil, "12 unknown method /%25C3%25BC%2525"},
		"a reserved path":         {"/-/livez", string(hello), nil, "12 unknown method /-/livez"},
		"reflection of too much":  {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", string(framed(make([]byte, maxReflected+1))), nil, "3 the request is larger than 4096 bytes"},
		"health is not delayed":   {checkPath, "\x00\x00\x00\x00\x00", []string{"X-Echo-Grpc-Status", "14"}, "0 "},
	} {
		if got, _ := called(t, client, server.URL+strings.ReplaceAll(c.path, "ü%", "%C3%BC%25"), []byte(c.sent), c.headers...); got != c.want {
			t.Errorf("%s: the status is %s, want %s", name, got, c.want)
		}
	}
}

func TestGRPCLog(t *testing.T) {
	var log lockedBuffer
	h := handlerOf(t)
	h.log = slog.New(slog.NewJSONHandler(&log, nil))
	server, client := serve(t, h), clients(t)["HTTP/2.0"]
	called(t, client, server.URL+checkPath, framed(nil))
	called(t, client, server.URL+unaryPath, nil)
	send(t, client, http.MethodGet, server.URL+checkPath, "")
	until(t, "two lines", func() bool { return strings.Count(log.String(), "\n") == 2 })
	lines := strings.Split(log.String(), "\n")
	if !strings.Contains(lines[0], `"path":"`+unaryPath+`"`) || !strings.Contains(lines[0], `"grpcStatus":"INTERNAL"`) || strings.Contains(lines[1], "grpcStatus") {
		t.Errorf("the log is %s", &log)
	}
	if got := series(t, h.metrics, "echo_grpc_requests_total"); got["code=OK,method=grpc.health.v1.Health/Check"] != 1 || got["code=INTERNAL,method=echo.v1.Echo/Unary"] != 1 || len(got) != 2 {
		t.Errorf("counted are %v", got)
	}
}

func TestGRPCMessageLimitIsCounted(t *testing.T) {
	h := handlerOf(t)
	called(t, clients(t)["HTTP/2.0"], serve(t, h).URL+unaryPath, framed(make([]byte, maxGRPCMessage+1)))
	if counted(h.metrics.limits, limitGRPCMessage) != 1 {
		t.Errorf("counted are %v", series(t, h.metrics, "echo_limited_total"))
	}
}

// TestGRPCWithTLS checks what a response tells of TLS.
func TestGRPCWithTLS(t *testing.T) {
	server := serveTLS(t, "")
	client := tlsClients(t, server.config())["HTTP/2.0"]
	for path, tlsPath := range map[string][]uint64{unaryPath: {4, 8}, gatewayAPI: {1, 5}} {
		_, response := called(t, client, "https://"+server.address+path, framed(nil))
		for n, want := range []string{"TLSv1.3", "h2", "", "TLS_AES_128_GCM_SHA256"} {
			if got := string(fieldOf(response, append(tlsPath, uint64(n)+1)...)); got != want {
				t.Errorf("%s: field %d of TLS is %q, want %q", path, n+1, got, want)
			}
		}
	}
}

// TestDescribeTLS checks that the certificates of the client are in PEM.
func TestDescribeTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	described := describeTLS(&tls.ConnectionState{Version: tls.VersionTLS12, PeerCertificates: []*x509.Certificate{server.Certificate()}}).message()
	block, _ := pem.Decode(fieldOf(described, 5))
	if string(fieldOf(described, 1)) != "TLSv1.2" || block == nil || block.Type != "CERTIFICATE" || !bytes.Equal(block.Bytes, server.Certificate().Raw) {
		t.Errorf("described is %q", described)
	}
}

// TestGRPCAborted checks that a call that is aborted by its client ends.
func TestGRPCAborted(t *testing.T) {
	h := handlerOf(t)
	call := begin(t, clients(t)["HTTP/2.0"], serve(t, h).URL+bidiPath, echoRequest("hello"))
	call.receive(t)
	_ = call.body.CloseWithError(io.ErrClosedPipe) // the client resets the stream
	until(t, "the call has ended", func() bool { return h.metrics.inFlight.Load() == 0 })
	if counted(h.metrics.calls, "echo.v1.Echo/BidiStream", "CANCELLED") != 1 {
		t.Errorf("counted are %v", series(t, h.metrics, "echo_grpc_requests_total"))
	}
}
