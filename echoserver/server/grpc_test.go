package server

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/echo-operator/echo-operator/echoserver/echov1"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/grpc"
	"github.com/echo-operator/echo-operator/echoserver/grpcecho"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// callCounts counts calls, controls, and rejections.
type callCounts struct {
	grpc.Metrics
	mutex  sync.Mutex
	counts map[string]int
}

// countCalls makes a handler count its calls in the returned counts.
func countCalls(h *handler) *callCounts {
	c := &callCounts{Metrics: h.calls.Metrics, counts: map[string]int{}}
	h.calls.Metrics = c
	return c
}

func (c *callCounts) count(what string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.counts[what]++
}

// Called implements Metrics.
func (c *callCounts) Called(method, status string) {
	c.count(strings.TrimPrefix(method, "echo.v1.Echo/") + " " + status)
}

// Rejected implements Metrics.
func (c *callCounts) Rejected(reason string) { c.count("limit " + reason) }

// all returns the sorted names of all nonzero counts.
func (c *callCounts) all() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Sorted(maps.Keys(c.counts))
}

// TestIsCall checks which requests are treated as gRPC calls instead of being echoed.
func TestIsCall(t *testing.T) {
	server := serve(t, handlerOf(t))
	const echoed, rejected = "200 application/json", "415 "
	for name, c := range map[string]struct {
		proto, method, contentType string
		want                       string
	}{
		"gRPC":                      {"HTTP/2.0", "POST", "application/grpc", "200 application/grpc"},
		"with protobuf":             {"HTTP/2.0", "POST", "application/grpc+proto", "200 application/grpc+proto"},
		"with a parameter":          {"HTTP/2.0", "POST", "Application/gRPC; a=b", "200 application/grpc"},
		"with JSON":                 {"HTTP/2.0", "POST", "application/grpc+json", "200 application/grpc+json"},
		"with another encoding":     {"HTTP/2.0", "POST", "application/grpc+thrift", rejected},
		"a type that is not valid":  {"HTTP/2.0", "POST", "application/grpc;;", "200 application/grpc"},
		"gRPC-Web":                  {"HTTP/2.0", "POST", "application/grpc-web+proto", "200 application/grpc-web+proto"},
		"gRPC-Web over HTTP/1.1":    {"HTTP/1.1", "POST", "application/grpc-web", "200 application/grpc-web"},
		"gRPC-Web in base64":        {"HTTP/1.1", "POST", "application/grpc-web-text", rejected},
		"a stream of Connect":       {"HTTP/1.1", "POST", "application/connect+json", rejected}, // a unary method cannot be called as a stream
		"another method":            {"HTTP/2.0", "PUT", "application/grpc", echoed},
		"another type":              {"HTTP/2.0", "POST", "application/gr", echoed},
		"gRPC over HTTP/1.1":        {"HTTP/1.1", "POST", "application/grpc", echoed},
		"JSON, which could be both": {"HTTP/2.0", "POST", "application/json", echoed},
		"protobuf":                  {"HTTP/1.1", "POST", "application/proto", echoed},
	} {
		got := echotest.Send(t, echotest.Clients(t)[c.proto], c.method, server.URL+unaryPath, "", "Content-Type", c.contentType)
		if got := got.Status[:4] + got.Header.Get("Content-Type"); got != c.want {
			t.Errorf("%s: the response is %s, want %s", name, got, c.want)
		}
	}
}

// TestHandler_respondsWithGRPCStatus checks the responses to requests that the grpc-go client would never send.
func TestHandler_respondsWithGRPCStatus(t *testing.T) {
	server, client := serve(t, handlerOf(t)), echotest.Clients(t)["HTTP/2.0"]
	const control = "X-Echo-Grpc-Status"
	hello, tooMuch := string(echoRequest(t, "hello")), string(prefixed(echotest.Payload(maxGRPCMessage+1)))
	for name, c := range map[string]struct {
		path    string
		sent    string
		headers []string
		want    string // the expected prefix of the status
	}{
		"no message":              {unaryPath, "", nil, "12 unary request has zero messages"},
		"compressed":              {unaryPath, "\x01" + hello[1:], nil, "13 protocol error: sent compressed message"},
		"gzip":                    {unaryPath, hello, []string{"Grpc-Encoding", "gzip"}, `12 unknown compression "gzip"`},
		"identity":                {unaryPath, hello, []string{"Grpc-Encoding", "identity"}, "0 "},
		"not protobuf":            {unaryPath, "\x00\x00\x00\x00\x01\x0b", nil, "3 unmarshal message"},
		"a long bad timeout":      {unaryPath, hello, []string{"Grpc-Timeout", strings.Repeat("1", 10_000) + "S"}, "3 "},
		"a timeout that is over":  {unaryPath, hello, []string{"Grpc-Timeout", "1n"}, "4 "},
		"a control that is wrong": {unaryPath, hello, []string{control, "17"}, `3 x-echo-grpc-status: "17" is not a whole number from 0 to 16`},
		"two controls":            {unaryPath, hello, []string{control, "1", control, "2"}, "3 x-echo-grpc-status: specified more than once"},
		"a path with a query":     {unaryPath + "?a", hello, nil, "12 unknown method /echo.v1.Echo/Unary?a"},
		"an encoded path":         {"/echo.v1.Echo/%55nary", hello, nil, "12 unknown method /echo.v1.Echo/%2555nary"},
		"a path with a character": {"/%C3%BC%25", hello, nil, "12 unknown method /%25C3%25BC%2525"},
		"a reserved path":         {"/-/livez", hello, nil, "12 unknown method /-/livez"},
		"a method of health":      {"/grpc.health.v1.Health/List", hello, nil, "12 unknown method /grpc.health.v1.Health/List"},
		"too much":                {unaryPath, tooMuch, nil, "8 message size 1048577 is larger than configured max 1048576"},
		"reflection of too much":  {reflectionPath, tooMuch, nil, "8 message size 1048577 is larger than configured max 4096"},
		"health is not delayed":   {healthCheckProcedure, "\x00\x00\x00\x00\x00", []string{control, "14"}, "0 "},
	} {
		got, _ := called(t, client, server.URL+c.path, []byte(c.sent), c.headers...)
		if !strings.HasPrefix(got, c.want) || len(got) > 2*exchange.MaxLogged {
			t.Errorf("%s: the status is %s, want %s", name, got, c.want)
		}
	}
}

func TestHandler_logsGRPCStatus(t *testing.T) {
	h, log := loggedHandler(t)
	server, client := serve(t, h), echotest.Clients(t)["HTTP/2.0"]
	called(t, client, server.URL+healthCheckProcedure, prefixed(""))
	called(t, client, server.URL+unaryPath, nil)
	echotest.Send(t, client, http.MethodGet, server.URL+healthCheckProcedure, "")
	echotest.Until(t, "two lines", func() bool { return strings.Count(log.String(), "\n") == 2 })
	lines := strings.Split(log.String(), "\n")
	if !strings.Contains(lines[0], `"path":"`+unaryPath+`"`) || !strings.Contains(lines[0], `"grpcStatus":"UNIMPLEMENTED"`) ||
		strings.Contains(lines[1], "grpcStatus") {
		t.Errorf("the log is %s", log)
	}
}

// TestHandler_countsCallsByStatus checks which status codes are counted, including for calls that Connect rejects.
func TestHandler_countsCallsByStatus(t *testing.T) {
	const unary, web, stream = "application/json", "application/grpc-web+json", "application/connect+json"
	tooLong := strings.Repeat(" ", maxGRPCMessage+prefixSize+1)
	for name, c := range map[string]struct {
		path, contentType string
		sent              string
		headers           []string
		want              []string
	}{
		"Connect":                     {unaryPath, unary, `{"message": "hello"}`, nil, []string{"Unary OK"}},
		"Connect, an unknown field":   {unaryPath, unary, `{"none": 1}`, nil, []string{"Unary OK"}},
		"Connect, not JSON":           {unaryPath, unary, "hello", nil, []string{"Unary INVALID_ARGUMENT"}},
		"Connect, too much":           {unaryPath, unary, tooLong, nil, []string{"Unary RESOURCE_EXHAUSTED", "limit grpc_message"}},
		"Connect, compressed":         {unaryPath, unary, "{}", []string{"Content-Encoding", "gzip"}, []string{"Unary UNIMPLEMENTED"}},
		"Connect, another version":    {unaryPath, unary, "{}", []string{"Connect-Protocol-Version", "2"}, []string{"Unary INVALID_ARGUMENT"}},
		"Connect, a requested code":   {unaryPath, unary, "{}", []string{"X-Echo-Grpc-Status", "11"}, []string{"Unary OUT_OF_RANGE"}},
		"Connect, an unknown method":  {"/a/b", unary, "{}", nil, []string{"other UNIMPLEMENTED"}},
		"Connect, text":               {unaryPath, "text/plain", "{}", nil, nil},
		"Connect, a stream as none":   {unaryPath, stream, "", nil, nil},
		"Connect, a stream":           {echov1.EchoClientStreamProcedure, stream, "", nil, []string{"ClientStream OK"}},
		"Connect, half a stream":      {echov1.EchoClientStreamProcedure, stream, "\x00", nil, []string{"ClientStream INTERNAL"}},
		"Connect, bidirectional":      {bidiPath, stream, "", nil, nil}, // not supported over HTTP/1.1
		"gRPC-Web":                    {unaryPath, web, string(prefixed("{}")), nil, []string{"Unary OK"}},
		"gRPC-Web, not JSON":          {unaryPath, web, string(prefixed("x")), nil, []string{"Unary INVALID_ARGUMENT"}},
		"gRPC-Web, no message":        {unaryPath, web, "", nil, []string{"Unary UNIMPLEMENTED"}},
		"gRPC-Web, an unknown method": {"/a/b", web, "", nil, []string{"other UNIMPLEMENTED"}},
		"gRPC-Web, too much": {unaryPath, web, string(prefixed(tooLong)), nil,
			[]string{"Unary RESOURCE_EXHAUSTED", "limit grpc_message"}},
	} {
		h := handlerOf(t)
		counts := countCalls(h)
		headers := append([]string{"Content-Type", c.contentType}, c.headers...)
		if !slices.Contains(headers, "Connect-Protocol-Version") {
			headers = append(headers, "Connect-Protocol-Version", "1")
		}
		echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodPost, serve(t, h).URL+c.path, c.sent, headers...)
		if got := counts.all(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the counts are %q, want %q", name, got, c.want)
		}
	}
}

// TestHandler_shortensJSONErrors checks that an error about invalid JSON does not contain the whole message.
func TestHandler_shortensJSONErrors(t *testing.T) {
	got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodPost, serve(t, handlerOf(t)).URL+unaryPath,
		`"`+strings.Repeat("<", 100_000)+`"`, "Content-Type", "application/json", "Connect-Protocol-Version", "1")
	if got.StatusCode != http.StatusBadRequest || len(got.Text) > 10*exchange.MaxLogged ||
		!strings.Contains(got.Text, `"code":"invalid_argument"`) {
		t.Errorf("%s, of %d bytes: %.200s", got.Status, len(got.Text), got.Text)
	}
}

// TestHandler_describesCallWithoutSecrets checks that a response shows no secrets, and no pod if identity is disabled.
func TestHandler_describesCallWithoutSecrets(t *testing.T) {
	server := serve(t, handlerOf(t, "ECHO_IDENTITY=false", "POD_NAME=pod-1", "ECHO_INFO_COLOR=blue"))
	sent := []string{"X-A", "\xff", "Authorization", "Bearer hunter2"}
	_, ours := called(t, echotest.Clients(t)["HTTP/2.0"], server.URL+unaryPath, prefixed(""), sent...)
	_, theirs := called(t, echotest.Clients(t)["HTTP/2.0"], server.URL+gatewayAPI, prefixed(""), sent...)
	echo, conformance := &echov1.EchoResponse{}, &grpcecho.EchoResponse{}
	if err := errors.Join(proto.Unmarshal(ours, echo), proto.Unmarshal(theirs, conformance)); err != nil {
		t.Fatal(err)
	}
	info := &echov1.Server{Info: map[string]string{"COLOR": "blue"}}
	if got := echo.Call; !proto.Equal(got.Server, info) || got.RemoteAddress+got.ClientAddress != "" {
		t.Errorf("without identity, the response has %v", got)
	}
	if got := conformance.Assertions.Context; !proto.Equal(got, &grpcecho.Context{}) {
		t.Errorf("without identity, the response has %v", got)
	}
	metadata, headers := map[string]string{}, map[string]string{}
	for _, each := range echo.Call.Metadata {
		metadata[each.Key] = each.Value
	}
	for _, each := range conformance.Assertions.Headers {
		headers[each.Key] = each.Value
	}
	for _, got := range []map[string]string{metadata, headers} {
		if got["x-a"] != "\uFFFD" || got["authorization"] != "Bearer [redacted: 7 bytes, sha256 f52fbd32]" {
			t.Errorf("the metadata are %q", got)
		}
	}
}

// TestHandler_reportsTLSOfCall checks the TLS properties that a response reports.
func TestHandler_reportsTLSOfCall(t *testing.T) {
	server := serveTLS(t, "")
	client := tlsClients(t, server.config())["HTTP/2.0"]
	_, ours := called(t, client, "https://"+server.address+unaryPath, prefixed(""))
	_, theirs := called(t, client, "https://"+server.address+gatewayAPI, prefixed(""))
	echo, conformance := &echov1.EchoResponse{}, &grpcecho.EchoResponse{}
	if err := errors.Join(proto.Unmarshal(ours, echo), proto.Unmarshal(theirs, conformance)); err != nil {
		t.Fatal(err)
	}
	const suite = "TLS_AES_128_GCM_SHA256"
	if got := echo.Call.Tls; !proto.Equal(got, &echov1.TLS{Version: "TLSv1.3", NegotiatedProtocol: "h2", CipherSuite: suite}) {
		t.Errorf("of TLS it reports %v", got)
	}
	want := &grpcecho.TLSAssertions{Version: "TLSv1.3", NegotiatedProtocol: "h2", CipherSuite: suite}
	if got := conformance.Assertions.TlsAssertions; !proto.Equal(got, want) {
		t.Errorf("of TLS it reports %v", got)
	}
}

func TestHandler_countsAbortedCallAsCanceled(t *testing.T) {
	h := handlerOf(t)
	counts := countCalls(h)
	call := begin(t, echotest.Clients(t)["HTTP/2.0"], serve(t, h).URL+bidiPath, echoRequest(t, "hello"))
	call.receive(t)
	_ = call.body.CloseWithError(io.ErrClosedPipe) // the client resets the stream
	echotest.Until(t, "the call has ended", func() bool { return h.metrics.inFlight.Load() == 0 })
	if got := counts.all(); !slices.Equal(got, []string{"BidiStream CANCELLED"}) {
		t.Errorf("counted are %q", got)
	}
}
