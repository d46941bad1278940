package server

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestDelay measures delays with synctest's fake clock.
func TestDelay(t *testing.T) {
	for name, c := range map[string]struct {
		environ []string
		target  string
		want    time.Duration
	}{
		"none":                     {nil, "/", 0},
		"zero":                     {nil, "/?echo.delay=0s", 0},
		"the shortest":             {nil, "/?echo.delay=1ns", 1},
		"the longest":              {nil, "/?echo.delay=30s", 30 * time.Second},
		"by default":               {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/", 2 * time.Second},
		"shorter than the default": {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/?echo.delay=1s", time.Second},
		"no default after all":     {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/?echo.delay=0s", 0},
		"a refused request":        {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/?echo.status=1", 0},
		"a health check":           {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/-/readyz", 0},
		"an unknown reserved path": {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/-/other?echo.delay=3s", 0},
		"the page for WebSockets":  {[]string{"ECHO_RESPONSE_DELAY=2s"}, "/-/ws", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := handlerOf(t, c.environ...)
			began := time.Now()
			echotest.Record(h, c.target)
			if took := time.Since(began); took != c.want || h.delays.Waiting.Load() != 0 {
				t.Errorf("%s: responded after %s, want %s; %d wait", name, took, c.want, h.delays.Waiting.Load())
			}
			if sum := totalDuration(t, h.metrics); sum != c.want.Seconds() {
				t.Errorf("%s: the metrics report %g s", name, sum)
			}
		})
	}
}

// TestDelay_rejectsOverLimit delays one fewer response than the limit allows, then one more, and checks that responses can be delayed again
// after the earlier delays end.
func TestDelay_rejectsOverLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlerOf(t)
		h.delays.Waiting.Store(exchange.MaxWaiting - 1)
		last := make(chan int)
		go func() { last <- echotest.Record(h, "/?echo.delay=1s").Code }()
		synctest.Wait()
		w := echotest.Record(h, "/?echo.delay=1ns&echo.status=418")
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" ||
			w.Body.String() != "echo-server: 1000 responses are already delayed\n" {
			t.Errorf("one over the limit gets %d %q with %v", w.Code, w.Body, w.Header())
		}
		if w := echotest.Record(h, "/?echo.delay=0s"); w.Code != http.StatusOK {
			t.Errorf("a response without delay has the status %d", w.Code)
		}
		if code := <-last; code != http.StatusOK {
			t.Errorf("the last response within the limit has the status %d", code)
		}
		if w := echotest.Record(h, "/?echo.delay=1ns"); w.Code != http.StatusOK || h.delays.Waiting.Load() != exchange.MaxWaiting-1 ||
			counted(h.metrics.rejected, exchange.LimitDelays) != 1 {
			t.Errorf("afterwards, the status is %d, %d responses are delayed, %d were rejected", w.Code, h.delays.Waiting.Load(),
				counted(h.metrics.rejected, exchange.LimitDelays))
		}
	})
}

// TestDelay_abortsCanceledRequest cancels a request while its response is delayed. The response must be aborted, and the request must be
// logged and counted with status 499.
func TestDelay_abortsCanceledRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, log := loggedHandler(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if got := recover(); !isAbort(got) {
					t.Errorf("it ends with the panic %v", got)
				}
			}()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?echo.delay=30s", http.NoBody).WithContext(ctx))
		}()
		if w.Body.Len() > 0 || h.delays.Waiting.Load() != 0 || h.metrics.inFlight.Load() != 0 {
			t.Errorf("the body is %q; %d wait, %d are in flight", w.Body, h.delays.Waiting.Load(), h.metrics.inFlight.Load())
		}
		if counted(h.metrics.requests, "http", "HTTP/1.1", "GET", "499") != 1 || totalDuration(t, h.metrics) != 3 {
			t.Errorf("the counts are %v, in %g s", series(t, h.metrics, "echo_http_requests_total"), totalDuration(t, h.metrics))
		}
		if !strings.Contains(log.String(), `"status":499,"bytes":0,`) || !strings.Contains(log.String(), `"nanoseconds":3000000000}`) {
			t.Errorf("the log is %s", log)
		}
	})
}

// TestHandler_closesConnectionsWhileDraining checks that only responses after the signal to stop ask clients to close their connections.
func TestHandler_closesConnectionsWhileDraining(t *testing.T) {
	for _, path := range []string{"/", "/?echo.status=1", "/-/livez", "/-/readyz", "/-/ws", "/-/other"} {
		h := handlerOf(t)
		if got := echotest.Record(h, path).Header().Values("Connection"); len(got) > 0 {
			t.Errorf("%s: before the signal Connection is %q", path, got)
		}
		h.life.draining.Store(true)
		w := echotest.Record(h, path)
		if got := w.Header().Get("Connection"); got != "close" {
			t.Errorf("%s: while draining Connection is %q", path, got)
		}
		if wantsReady := map[string]string{"/-/livez": "ok\n", "/-/readyz": "draining\n"}[path]; wantsReady != "" &&
			(w.Body.String() != wantsReady || (w.Code == http.StatusOK) != (wantsReady == "ok\n")) {
			t.Errorf("%s: while draining the response is %d %q", path, w.Code, w.Body)
		}
	}
	h := handlerOf(t)
	for _, draining := range []bool{false, true} {
		h.life.draining.Store(draining)
		if got := decode(t, echotest.Record(h, "/").Body.String()).Server.Draining; got != draining {
			t.Errorf("the response has draining %t, want %t", got, draining)
		}
	}
}

// TestHandler_reportsOnlyFirstError sends requests with several errors. A response may name the second error only if the request does not
// have the first one.
func TestHandler_reportsOnlyFirstError(t *testing.T) {
	for name, c := range map[string]struct {
		method, target string
		body           io.Reader
		status         int
	}{
		"a large body before a control": {http.MethodPost, "/?echo.status=1", strings.NewReader(echotest.Payload(exchange.MaxBody + 1)),
			http.StatusRequestEntityTooLarge},
		"a control before a delay": {http.MethodPost, "/?echo.status=1&echo.delay=1h", strings.NewReader("x"),
			http.StatusBadRequest},
		"CONNECT": {http.MethodConnect, "/", http.NoBody, http.StatusMethodNotAllowed},
		"CONNECT before a large body": {http.MethodConnect, "example.com:80",
			strings.NewReader(echotest.Payload(exchange.MaxBody + 1)), http.StatusMethodNotAllowed},
		"CONNECT to a stream":                    {http.MethodConnect, "/-/body", strings.NewReader("x"), http.StatusMethodNotAllowed},
		"CONNECT to a probe":                     {http.MethodConnect, "/-/livez", http.NoBody, http.StatusMethodNotAllowed},
		"a reserved path without its controls":   {http.MethodPost, "/-/other?echo.status=503", strings.NewReader("x"), http.StatusNotFound},
		"a path that only looks like a reserved": {http.MethodPost, "/-?echo.status=503", strings.NewReader("x"), http.StatusServiceUnavailable},
	} {
		w := httptest.NewRecorder()
		handlerOf(t).ServeHTTP(w, httptest.NewRequest(c.method, c.target, c.body))
		if w.Code != c.status {
			t.Errorf("%s: the status is %d, want %d: %s", name, w.Code, c.status, w.Body)
		}
		if refused := c.status != http.StatusServiceUnavailable; refused && (!strings.HasPrefix(w.Body.String(), "echo-server: ") ||
			strings.Count(w.Body.String(), "\n") != 1 || w.Header().Get("Content-Type") != transport.PlainText) {
			t.Errorf("%s: the reason is not one line of text: %q", name, w.Body)
		}
	}
}

// TestRespond_replacesDefaultHeaders sets headers that the server also sets, some of them several times.
func TestRespond_replacesDefaultHeaders(t *testing.T) {
	own := controls.Full.Vary()
	h := handlerOf(t, "ECHO_CONTROLS=Full",
		`ECHO_RESPONSE_HEADERS=[{"name":"cache-control","value":"max-age=60"},{"name":"vary","value":"A"},{"name":"Vary","value":"B"}]`)
	for name, c := range map[string]struct {
		target, header string
		want           []string
	}{
		"a default instead of the server's own":    {"/", "Cache-Control", []string{"max-age=60"}},
		"a request's instead of the default":       {"/?echo.set-header=CACHE-CONTROL:private", "Cache-Control", []string{"private"}},
		"two defaults of one name":                 {"/", "Vary", []string{own + ",A,B"}},
		"two of a request instead of the defaults": {"/?echo.set-header=vary:C&echo.set-header=Vary:D", "Vary", []string{own + ",C,D"}},
		"a type instead of the format's": {"/?echo.format=text&echo.set-header=content-type:text/csv", "Content-Type",
			[]string{"text/csv"}},
		"an empty value":                          {"/?echo.set-header=X-A:", "X-A", []string{""}},
		"a policy that no request can set":        {"/?echo.format=json", "Content-Security-Policy", []string{exchange.Sandbox}},
		"no default of a cache next to a control": {"/?echo.status=503", "Cache-Control", []string{"no-store"}},
	} {
		if got := echotest.Record(h, c.target).Header().Values(c.header); strings.Join(got, "|") != strings.Join(c.want, "|") ||
			len(got) != len(c.want) {
			t.Errorf("%s: %s is %q, want %q", name, c.header, got, c.want)
		}
	}
}

// TestHandler_separatesConcurrentResponses sends different requests at the same time. Some of the responses are larger than the shared
// buffers.
func TestHandler_separatesConcurrentResponses(t *testing.T) {
	h := handlerOf(t)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 50 {
				marker := strings.Repeat(fmt.Sprintf("%d-%d.", worker, i), 1+i%3*transport.IncludedResponse/6)
				w := echotest.Record(h, "/"+marker, "X-Marker", marker)
				var got describe.Response
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Path != "/"+marker || got.Headers["X-Marker"][0] != marker {
					t.Errorf("worker %d, request %d: the response is of %s", worker, i, got.Path)
					return
				}
			}
		})
	}
	all.Wait()
	if got := counted(h.metrics.requests, "http", "HTTP/1.1", "GET", "200"); got != 400 {
		t.Errorf("%d requests are counted", got)
	}
}

// TestSign requests proofs on all routes, with settings that change responses or hide the server's identity.
func TestSign(t *testing.T) {
	web := proof.Echo{Namespace: "shop", Name: "web"}
	pod := []string{"POD_NAMESPACE=shop", "SERVICE_NAME=web"}
	for _, setting := range []string{"ECHO_IDENTITY=false", "ECHO_CONTROLS=None", "ECHO_RESPONSE_BODY=x", "ECHO_RESPONSE_STATUS=503"} {
		h := handlerOf(t, append(pod, setting)...)
		for i, target := range []string{"/", "/-/livez", "/-/ws", "/-/unknown", "/?echo.nonsense=1"} {
			nonce := fmt.Sprintf("%016x", i)
			for asked := range 2 {
				w := echotest.Record(h, target, proof.RequestHeader, web.Ask(nonce))
				if attempt, ok := web.Verify(nonce, w.Header().Get(proof.ResponseHeader)); !ok || attempt != asked+1 {
					t.Errorf("%s, %s: the proof is %q", setting, target, w.Header()[proof.ResponseHeader])
				}
			}
		}
	}
}

// TestSign_withoutEchoName requests proofs as a client that does not know the name of the Echo.
func TestSign_withoutEchoName(t *testing.T) {
	nonce, other := "0123456789abcdef", proof.Echo{Namespace: "shop", Name: "other"}
	h := handlerOf(t, "POD_NAMESPACE=shop", "SERVICE_NAME=web")
	for _, value := range []string{nonce, other.Ask(nonce)} {
		w := echotest.Record(h, "/", proof.RequestHeader, value)
		if _, ok := (proof.Echo{}).Verify(nonce, w.Header().Get(proof.ResponseHeader)); !ok {
			t.Errorf("%s: the response does not prove that this is an Echo: %q", value, w.Header()[proof.ResponseHeader])
		}
	}
	for _, values := range [][]string{{}, {"short"}, {nonce, nonce}, {nonce + "," + nonce}} {
		var headers []string
		for _, value := range values {
			headers = append(headers, proof.RequestHeader, value)
		}
		if got := echotest.Record(h, "/", headers...).Header()[proof.ResponseHeader]; got != nil {
			t.Errorf("%q has the proof %q", values, got)
		}
	}
}

// TestSign_provesStreamsAndCalls requests proofs over real connections, which streamed responses and gRPC calls require.
func TestSign_provesStreamsAndCalls(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		for i, path := range []string{"/-/body", "/echo.v1.Echo/Unary"} {
			nonce := fmt.Sprintf("%s%016x", strings.ToLower(proto[len("HTTP/"):len("HTTP/")+1]), i)
			got := echotest.Send(t, client, http.MethodPost, server.URL+path, "", proof.RequestHeader, nonce, "Content-Type", "application/grpc")
			if _, ok := (proof.Echo{}).Verify(nonce, got.Header.Get(proof.ResponseHeader)); !ok {
				t.Errorf("%s, %s: the proof is %q", proto, path, got.Header[proof.ResponseHeader])
			}
		}
	}
}

func TestRouteOf(t *testing.T) {
	for path, want := range map[string]route{
		"/-/livez":          routeLive,
		"/-/readyz":         routeReady,
		"/-/body":           routeBody,
		"/-/ws":             routeWebSocket,
		"/-/sse":            routeEvents,
		"/shop/-/body":      routeBody,
		"/shop/-/ws":        routeWebSocket,
		"/shop/a b/-/sse":   routeEvents,
		"//-/ws":            routeWebSocket,
		"/-/-/ws":           routeWebSocket,
		"/-/other/-/ws":     routeWebSocket,
		"/-/":               routeUnknown,
		"/-/other":          routeUnknown,
		"/-/ws/":            routeUnknown,
		"/-/ws/other":       routeUnknown,
		"/-/WS":             routeUnknown,
		"/-/livez/":         routeUnknown,
		"":                  routeEcho,
		"*":                 routeEcho,
		"/":                 routeEcho,
		"/-":                routeEcho,
		"/ws":               routeEcho,
		"/-ws":              routeEcho,
		"/shop/ws":          routeEcho,
		"/shop-/-ws":        routeEcho,
		"/shop-/ws":         routeEcho,
		"/shop/-/ws/":       routeEcho,
		"/shop/-/ws/x":      routeEcho,
		"/shop/-/other":     routeEcho,
		"/shop/-/livez":     routeEcho,
		"/shop/-/readyz":    routeEcho,
		"/shop/-/websocket": routeEcho,
		"-/ws":              routeEcho,
	} {
		if got := routeOf(path); got != want {
			t.Errorf("the route of %q is %d, want %d", path, got, want)
		}
	}
}

// TestRouteOf_servesPathsUnderPrefix requests paths with a prefix, as an Ingress with a path forwards them. Only some routes exist under a
// prefix.
func TestRouteOf_servesPathsUnderPrefix(t *testing.T) {
	server := serve(t, handlerOf(t))
	for proto, client := range echotest.Clients(t) {
		if got := echotest.Send(t, client, http.MethodPost, server.URL+"/shop/-/body", "hello"); got.Text != "hello" {
			t.Errorf("%s: the body comes back as %q", proto, got.Text)
		}
		if got := echotest.Send(t, client, http.MethodGet, server.URL+"/shop/-/ws?color=blue",
			""); got.Header.Get("Content-Type") != describe.PageType {
			t.Errorf("%s: the page for WebSockets is %s", proto, got.Header.Get("Content-Type"))
		}
		if got := echotest.Send(t, client, http.MethodPost, server.URL+"/shop/-/sse", ""); got.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: the event stream responds to POST with %d", proto, got.StatusCode)
		}
		if got := echotest.Send(t, client, http.MethodGet, server.URL+"/shop/-/readyz", ""); decode(t, got.Text).Path != "/shop/-/readyz" {
			t.Errorf("%s: the response to a path that ends like a probe is %q, not the echo", proto, got.Text)
		}
	}
}

// TestRoutedPath checks that an escaped slash is not a separator, no matter how many times it is escaped, and that other escapes are
// decoded.
func TestRoutedPath(t *testing.T) {
	for target, want := range map[string]route{
		"/a%2F-%2Fbody":         routeEcho, // a segment that contains slashes, such as a project path in the GitLab API
		"/a%2f-%2fbody":         routeEcho,
		"/a/-%2Fbody":           routeEcho,
		"/a%2F-/body":           routeEcho,
		"/%2F-/sse":             routeEcho,
		"/-%2Flivez":            routeEcho,
		"/-%2freadyz":           routeEcho,
		"/-%2Fws":               routeEcho,
		"/-%2Fother":            routeEcho,
		"/%2F-%2Fws":            routeEcho,
		"/a%252F-%252Fbody":     routeEcho,
		"/a%25252F-/body":       routeEcho,
		"/a%2F-%2Fbody?b=/-/ws": routeEcho,
		"/-/%2Fbody":            routeUnknown,
		"/-/body%2F":            routeUnknown,
		"/a%2Fb/-/body":         routeBody,
		"/a%2F/-/ws":            routeWebSocket,
		"/a%252Fb/-/sse":        routeEvents,
		"/%2D/livez":            routeLive, // an unnecessary escape (RFC 3986, 6.2.2.2)
		"/-/%62od%79":           routeBody,
		"/caf%E9/-/body":        routeBody,
		"/caf\xe9%2F-/body":     routeEcho,
		"http://a/b%2F-%2Fbody": routeEcho, // as sent to a proxy
		"http://a/b/-/body":     routeBody,
	} {
		parsed, err := url.ParseRequestURI(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := routeOf(routedPath(parsed)); got != want {
			t.Errorf("the route of %q is %d, want %d", target, got, want)
		}
	}
}

// TestRoutedPath_servesEscapedSlashes sends paths that would be reserved if escaped slashes were treated as slashes. The server must echo
// and log them as received.
func TestRoutedPath_servesEscapedSlashes(t *testing.T) {
	h, log := loggedHandler(t)
	server := serve(t, h)
	for proto, client := range echotest.Clients(t) {
		for _, path := range []string{"/a%2F-%2Fbody", "/-%2Flivez", "/-%2Fother", "/shop%2f-%2Fws"} {
			if got := decode(t, echotest.Send(t, client, http.MethodGet, server.URL+path, "").Text); got.Path != path {
				t.Errorf("%s: %s is echoed as %s", proto, path, got.Path)
			}
		}
	}
	echotest.Until(t, "all are logged", func() bool { return strings.Count(log.String(), "\n") == 8 })
}

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
		if got, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 431 ") {
			t.Errorf("%v line breaks: the response is %q, %v", lines, got, err)
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
