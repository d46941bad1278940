package pathcheck

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestRun_strangers examines servers that are not Echoes. Each server must receive only a few requests, and the problem must name what its
// response is a sign of.
func TestRun_strangers(t *testing.T) {
	other, _ := startEcho(t, "ECHO_SERVICE_NAME=other")
	respond := func(status int, body string, pairs ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for pair := range slices.Chunk(pairs, 2) {
				w.Header().Set(pair[0], pair[1])
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"another server": {respond(200, "hello"), "the URL leads elsewhere"},
		"no pods":        {respond(503, ""), "reaches no server"},
		"an error":       {respond(502, ""), "reaches no server"},
		"maintenance":    {respond(503, "<h1>Back soon</h1>", "Retry-After", "3600"), "maintenance page (Retry-After: 3600)"},
		"a closed shop":  {respond(200, "<h1>Down for Maintenance</h1>"), "maintenance page"},
		"a rate limit":   {respond(429, "slow down", "Retry-After", "30"), "a rate limit refuses requests (Retry-After: 30)"},
		"a login form":   {respond(200, `<input type="password">`), "requires a login"},
		"a key":          {respond(403, ""), "requires a login"},
		"a challenge":    {respond(401, "", "WWW-Authenticate", "Basic"), "requires a login"},
		"a redirect":     {respond(302, "", "Location", "https://example.com/?token=hunter2"), "redirects to https://example.com/?[hidden]: check"},
		"a cache":        {respond(200, "{}", "Age", "12"), "from a cache"},
		"no route":       {respond(404, "default backend"), "no route leads to the Echo"},
		"a mirror": {func(w http.ResponseWriter, r *http.Request) {
			w.Header()[proof.ResponseHeader] = r.Header[proof.RequestHeader]
		}, "another Echo"},
		"another Echo":     {proxyTo(other, nothing).ServeHTTP, "another Echo"},
		"an invalid proof": {respond(200, "", proof.ResponseHeader, strings.Repeat("0", 64)), "another Echo"},
	} {
		var received atomic.Int64
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			received.Add(1)
			c.handler(w, r)
		}))
		report := check(t, Options{URL: url, Echo: proof.Echo{Namespace: "shop", Name: "web"},
			Expect: []Expectation{expect("client.address", probe.Kept)}})
		if received.Load() > 6 || !strings.Contains(report.Problem, c.want) || len(report.Facts) > 0 || report.ExitCode() == 0 || report.Expected[0].OK {
			t.Errorf("%s received %d requests; the report is %+v", name, received.Load(), report)
		}
	}
}

// provenHeader reads a request and returns the beginning of a response, including an Echo's proof.
func provenHeader(c net.Conn) string {
	buffer := make([]byte, 64<<10)
	n, err := c.Read(buffer)
	if err != nil {
		return ""
	}
	_, after, _ := bytes.Cut(buffer[:n], []byte(proof.RequestHeader+": "))
	nonce, _, _ := bytes.Cut(after, []byte("\r\n"))
	asked, as, _ := (proof.Echo{}).Respond(string(nonce))
	return "HTTP/1.1 200 OK\r\n" + proof.ResponseHeader + ": " + as.Sign(asked, &proof.Claims{Status: 200}) + "\r\n"
}

// TestRun_hostileServers examines servers that prove that they are Echoes and then attack the client. The run must finish in time, and must
// use a bounded amount of memory.
func TestRun_hostileServers(t *testing.T) {
	const megabyte = 1 << 20
	endless := func(c net.Conn, piece string, bytes int) {
		for sent := 0; sent < bytes; sent += len(piece) {
			if _, err := io.WriteString(c, piece); err != nil {
				return
			}
		}
	}
	var names strings.Builder
	for i := range 70_000 {
		fmt.Fprintf(&names, `"%x":[""],`, i)
	}
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	for name, handle := range map[string]func(net.Conn){
		"never responds":            silent,
		"never responds after that": func(c net.Conn) { header := provenHeader(c); _, _ = io.WriteString(c, header); silent(c) },
		"1 GiB": func(c net.Conn) {
			_, _ = io.WriteString(c, provenHeader(c)+"Content-Length: 1073741824\r\n\r\n")
			endless(c, strings.Repeat("x", 64<<10), 1024*megabyte)
		},
		"1 GiB in chunks of a byte": func(c net.Conn) {
			_, _ = io.WriteString(c, provenHeader(c)+"Transfer-Encoding: chunked\r\n\r\n")
			endless(c, strings.Repeat("1\r\nx\r\n", 10_000), 1024*megabyte)
		},
		"endless headers": func(c net.Conn) {
			_, _ = io.WriteString(c, provenHeader(c))
			endless(c, strings.Repeat("X-A: b\r\n", 8000), 1024*megabyte)
		},
		"an endless line": func(c net.Conn) {
			_, _ = io.WriteString(c, provenHeader(c)+"X-A: ")
			endless(c, strings.Repeat("x", 64<<10), 1024*megabyte)
		},
		"endless interim responses": func(c net.Conn) {
			_ = provenHeader(c)
			endless(c, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000), 1024*megabyte)
		},
		"a byte now and then":        func(c net.Conn) { _, _ = io.WriteString(c, provenHeader(c)+"Content-Length: 1000\r\n\r\n"); drip(c) },
		"a header byte now and then": func(c net.Conn) { _, _ = io.WriteString(c, provenHeader(c)+"X-A: "); drip(c) },
		"JSON without an end": func(c net.Conn) {
			_, _ = io.WriteString(c, provenHeader(c)+"Content-Type: application/json\r\n\r\n")
			endless(c, strings.Repeat("[", 64<<10), 100*megabyte)
		},
		"JSON of many names": func(c net.Conn) {
			body := `{"method": "GET", "path": "/pathcheck", "headers": {` + names.String() + `"a": []}}`
			_, _ = io.WriteString(c, provenHeader(c)+"Content-Type: application/json\r\n\r\n"+body)
		},
		"closes": func(c net.Conn) { _ = provenHeader(c) },
	} {
		t.Run(name, func(t *testing.T) {
			const deadline, most = 1500 * time.Millisecond, 48 * megabyte
			stop := watchMemory(t, most)
			began := time.Now()
			report := check(t, Options{URL: echotest.Serve(t, handle), Deadline: deadline})
			took := time.Since(began)
			stop()
			if took > 10*deadline || report.Bytes > wire.MaxBytes || report.Requests > wire.MaxRequests || report.Problem == "" &&
				len(report.NotTested) == 0 {
				t.Errorf("the run took %s; the report is %+v", took, report)
			}
			if len(report.Verdict()) > 4000 {
				t.Errorf("the verdict has %d bytes", len(report.Verdict()))
			}
		})
	}
}

// drip sends one byte at a time, with pauses.
func drip(c net.Conn) {
	for {
		if _, err := io.WriteString(c, "x"); err != nil {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}

// watchMemory fails the test if the process uses more memory than allowed before the returned function is called.
func watchMemory(t *testing.T, most uint64) (stop func()) {
	t.Helper()
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	ended, done := make(chan struct{}), make(chan uint64)
	go func() {
		peak := uint64(0)
		for {
			select {
			case <-ended:
				done <- peak
				return
			case <-time.After(20 * time.Millisecond):
				var now runtime.MemStats
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapInuse)
			}
		}
	}()
	return func() {
		close(ended)
		if peak := <-done; peak > before.HeapInuse+most {
			t.Errorf("the run used %d MiB of memory", (peak-before.HeapInuse)>>20)
		}
	}
}

// TestRun_deadline lets a run reach its deadline. The report must contain the facts that are known at that time.
func TestRun_deadline(t *testing.T) {
	silent := func(_ *bench, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/-/") {
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		report := run(t, &truthCase{around: silent, options: func(o *Options) {
			o.Deadline, o.Groups = 2*time.Second, []string{"request", "client", "websocket"}
		}}, noise{}, 1)
		expectFacts(t, report, map[string]string{"request.method": probe.Kept, "client.address": "lost"})
		if !slices.ContainsFunc(report.NotTested, func(n NotTested) bool {
			return n.Name == "websocket" && n.Reason == probe.ErrDeadline.Error()
		}) {
			t.Errorf("not tested are %v", report.NotTested)
		}
	})
}

// TestRun_staysBelow checks that all requests stay below the URL's path, even if dot segments are resolved after escapes are decoded.
func TestRun_staysBelow(t *testing.T) {
	address, _ := startEcho(t)
	var outside atomic.Int64
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if resolved := path.Clean(r.URL.Path) + "/"; !strings.HasPrefix(resolved, "/shop/") {
			outside.Add(1)
		}
		proxyTo(address, nothing).ServeHTTP(w, r)
	}))
	report := check(t, Options{URL: url + "/shop",
		Groups: []string{"request", "body", "response", "websocket", "grpc", "retries", "loadBalancing"}})
	if outside.Load() > 0 || report.Problem != "" {
		t.Errorf("%d requests left the path; %s", outside.Load(), report.Problem)
	}
}
