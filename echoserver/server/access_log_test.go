package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestHandler_logsClient compares the client's address in the log with the one in the response.
func TestHandler_logsClient(t *testing.T) {
	for trusted, want := range map[string]string{"": "", "127.0.0.0/8,203.0.113.7": "198.51.100.9", "10.0.0.0/8 ECHO_IDENTITY=false": "127.0.0.1"} {
		isHidden := strings.Contains(trusted, "IDENTITY")
		h, log := loggedHandler(t, strings.Fields("ECHO_TRUSTED_PROXIES="+trusted)...)
		url := serve(t, h).URL
		for proto, client := range echotest.Clients(t) {
			for target, headers := range map[string][]string{"/": nil, "/-/body": nil, "/?echo.status=1": nil, "/-/livez/a": nil,
				"/echo.v1.Echo/Unary": {"Content-Type", "application/json", "Connect-Protocol-Version", "1"}} {
				id := proto + target
				got := echotest.Send(t, client, http.MethodPost, url+target, "{}",
					append(headers, "X-Forwarded-For", "198.51.100.9, 203.0.113.7", "X-Request-Id", id)...)
				echotest.Until(t, "it is logged", func() bool { return strings.Contains(log.String(), `"id":"`+id+`"`) })
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				var line struct{ Client struct{ Address string } }
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &line); err != nil || line.Client.Address != want ||
					target == "/" && want != "" && (decode(t, got.Text).Client.Address == want) == isHidden {
					t.Errorf("%q, %s: %v, the log is %s, the response is %s", trusted, id, err, lines[len(lines)-1], got.Text)
				}
			}
		}
	}
}

func TestHandler_logsRequestsExceptProbes(t *testing.T) {
	h, log := loggedHandler(t)
	for _, path := range []string{"/-/livez", "/-/readyz"} {
		echotest.Record(h, path)
	}
	if got := log.String(); got != "" {
		t.Errorf("probes are logged: %s", got)
	}
	echotest.Record(h, "/a%0ab?token=hunter2&echo.status=418", "X-Request-Id", "id-7", "Authorization", "Bearer hunter2")
	var line map[string]any
	if err := json.Unmarshal([]byte(log.String()), &line); err != nil {
		t.Fatalf("%v in %s", err, log)
	}
	for key, want := range map[string]any{"msg": "request", "level": "INFO", "id": "id-7", "method": "GET", "host": "example.com",
		"path": "/a%0ab", "proto": "HTTP/1.1",
		"status": 418.0, "remote": "192.0.2.1:1234"} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if strings.Contains(log.String(), "hunter2") || strings.Count(log.String(), "\n") != 1 || line["bytes"].(float64) < 100 ||
		line["nanoseconds"].(float64) <= 0 {
		t.Errorf("the line is %s", log)
	}
}

// TestRun_awaitsCertificates checks how long the server waits for a Secret.
func TestRun_awaitsCertificates(t *testing.T) {
	good := echotest.SecretKeys(echotest.NewAuthority(t, "a").Issue(t, "first"), "")
	for name, c := range map[string]struct {
		first  map[string]string
		after  time.Duration // how long until there is a valid pair
		want   string
		atMost time.Duration
	}{
		"at once":       {good, time.Hour, "", 0},
		"after a while": {nil, 9 * time.Second, "", 10 * time.Second},
		"never": {nil, time.Hour, `TLS: Secret "web-tls": key tls.crt is missing`,
			10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			volume := echotest.NewSecretVolume(t, c.first)
			update := time.AfterFunc(c.after, func() { volume.Update(t, good) })
			defer update.Stop()
			began := time.Now()
			// Run cannot listen on this HTTP address. It must not try before it has a certificate, so an error about the certificate comes first.
			s := settingsOf(t, "ECHO_TLS_ADDR=:0", "ECHO_TLS_DIR="+volume.Folder, "ECHO_TLS_SECRET=web-tls", "ECHO_HTTP_ADDR=192.0.2.1:1")
			err := Run(t.Context(), s, "dev", echotest.Quiet())
			if took := time.Since(began); took > c.atMost || c.want != "" && took < c.atMost {
				t.Errorf("%s: it took %s", name, took)
			}
			if c.want == "" && !strings.HasPrefix(err.Error(), "cannot listen: ") || c.want != "" && err.Error() != c.want {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}

// TestNewAdmin checks complete responses from the admin port before and during draining.
func TestNewAdmin(t *testing.T) {
	const unknown = "echo-server: not found: the paths are /metrics, /livez, and /readyz\n"
	for name, c := range map[string]struct {
		path     string
		draining bool
		status   int
		body     string
	}{
		"live":                         {"/livez", false, 200, "ok\n"},
		"ready":                        {"/readyz", false, 200, "ok\n"},
		"not ready while draining":     {"/readyz", true, 503, "draining\n"},
		"another path":                 {"/", false, 404, unknown},
		"a path of the serving port":   {"/-/livez", false, 404, unknown},
		"a path below one that exists": {"/metrics/x", false, 404, unknown},
		"profiles":                     {"/debug/pprof/", false, 404, unknown},
	} {
		h, log := loggedHandler(t)
		h.life.draining.Store(c.draining)
		w := echotest.Record(newAdmin(h.life, h.metrics), c.path)
		if log.String() != "" {
			t.Errorf("%s: the log is %s", name, log)
		}
		if w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s: the response is %d %q, want %d %q", name, w.Code, w.Body, c.status, c.body)
		}
		want := http.Header{"Content-Type": {transport.PlainText}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"},
			"Content-Security-Policy": {exchange.Sandbox}}
		if diff := cmp.Diff(want, w.Header()); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", name, diff)
		}
		if got := counted(h.metrics.requests, "admin", "HTTP/1.1", "GET", strconv.Itoa(c.status)); got != 1 || h.metrics.inFlight.Load() != 0 {
			t.Errorf("%s: %d are in flight, %d are counted", name, h.metrics.inFlight.Load(), got)
		}
	}
}

// TestHandler_releasesReservedBytes checks that requests over both protocols release all bytes that they reserve.
func TestHandler_releasesReservedBytes(t *testing.T) {
	h := handlerOf(t)
	server := serve(t, h)
	for _, client := range echotest.Clients(t) {
		for _, size := range []int{0, 10_000, exchange.MaxShown, 200_000, exchange.MaxBody + 1} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/?echo.delay=1ms",
				strings.NewReader(echotest.Payload(size)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-Long", strings.Repeat("x", 20_000))
			if response, err := client.Do(r); err == nil {
				_ = response.Body.Close()
			}
		}
		client.CloseIdleConnections()
	}
	echotest.Until(t, "all bytes are released", func() bool {
		return held(t, h) == 0 && h.budget.Connections.Used.Load() == 0
	})
}

// TestExhausted checks the responses to requests when the budget is nearly used up. Ordinary requests must not be rejected.
func TestExhausted(t *testing.T) {
	h := handlerOf(t)
	h.budget.Requests.Acquire(h.budget.Requests.Limit - h.budget.Requests.Used.Load() - 1000)
	server := serve(t, h)
	for proto, client := range echotest.Clients(t) {
		for path, body := range map[string]string{"/": echotest.Payload(20_000), "/?echo.delay=1ms": "", "/-/sse": ""} {
			method := http.MethodGet
			if body != "" {
				method = http.MethodPost
			}
			got := echotest.Send(t, client, method, server.URL+path, body)
			if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "1" ||
				!strings.Contains(got.Text, transport.OverBudget) {
				t.Errorf("%s %s: the response is %d %v %q", proto, path, got.StatusCode, got.Header, got.Text)
			}
		}
		if got := echotest.Send(t, client, http.MethodPost, server.URL, echotest.Payload(1000)); got.StatusCode != http.StatusOK {
			t.Errorf("%s: an ordinary request has the response %d", proto, got.StatusCode)
		}
	}
	if got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodGet, server.URL, "", "X-Long",
		strings.Repeat("x", 20_000)); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a long header has the response %d", got.StatusCode)
	}
	h.delays.Waiting.Store(exchange.MaxWaiting)
	if w := echotest.Record(h, "/?echo.delay=1ns&echo.status=418"); w.Code != http.StatusTooManyRequests ||
		w.Header().Get("Retry-After") != "1" || w.Body.String() != "echo-server: 1000 responses are already delayed\n" {
		t.Errorf("one delay over the limit gets %d %q with %v", w.Code, w.Body, w.Header())
	}
	if counted(h.metrics.rejected, transport.LimitMemory) < 6 || counted(h.metrics.rejected, exchange.LimitDelays) != 1 {
		t.Errorf("counted are %v", series(t, h.metrics, "echo_rejected_total"))
	}
}

func TestHandler_logsGRPCStatus(t *testing.T) {
	h, log := loggedHandler(t)
	url, client := serve(t, h).URL, echotest.Clients(t)["HTTP/2.0"]
	const unaryPath, healthPath = "/echo.v1.Echo/Unary", "/grpc.health.v1.Health/Check"
	for _, path := range []string{healthPath, unaryPath} {
		echotest.Send(t, client, http.MethodPost, url+path, "", "Content-Type", "application/grpc")
	}
	echotest.Send(t, client, http.MethodGet, url+healthPath, "")
	echotest.Until(t, "two lines", func() bool { return strings.Count(log.String(), "\n") == 2 })
	lines := strings.Split(log.String(), "\n")
	if !strings.Contains(lines[0], `"path":"`+unaryPath+`"`) || !strings.Contains(lines[0], `"grpcStatus":"UNIMPLEMENTED"`) ||
		strings.Contains(lines[1], "grpcStatus") {
		t.Errorf("the log is %s", log)
	}
}
