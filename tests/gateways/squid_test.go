package gateways

import (
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck"
)

// squid returns Squid as an accelerator, which is its name for a reverse proxy.
func squid() gateway {
	const docs = "http://www.squid-cache.org/Versions/v5/cfgman/"
	return gateway{
		name: "Squid", version: []string{"squid", "-v"}, run: []string{"squid", "-N", "-f", "CONFIG", "-n", "gatewayPORT"},
		varies: "body.chunked", // TestSquid_chunks shows why
		config: func(setting string) string {
			login := ""
			if strings.HasPrefix(setting, "login=") { // an option of cache_peer
				login, setting = setting, ""
			}
			return `http_port LISTEN accel
cache_peer 127.0.0.1 parent ECHO_PORT 0 no-query originserver ` + login + `
http_access allow all
visible_hostname gateway
access_log none
cache_log DIR/cache.log
coredump_dir DIR
pid_filename none
pinger_enable off
shutdown_lifetime 0 seconds
` + setting + "\n"
		},
		facts: []promise{
			{"client.address", "kept", docs + "forwarded_for.html"},
			{"client.address.by", "X-Forwarded-For", docs + "forwarded_for.html"},
			{"client.spoofable[X-Forwarded-For]", "in front", docs + "forwarded_for.html"},
			{"request.headers.removed", "Authorization", docs + "cache_peer.html"},
			{"request.headers.size", "31Ki", docs + "request_header_max_size.html"},
			{"request.host", "kept", docs + "http_port.html"},
			{"request.version", "HTTP/1.1", "http://wiki.squid-cache.org/Features/HTTP11"},
			{"body.max", "2Mi", docs + "request_body_max_size.html"},
			{"response.cached", "no", docs + "refresh_pattern.html"},
			{"response.stream", "streamed", docs + "read_ahead_gap.html"},
			{"retries.get", "0", docs + "retry_on_error.html"},
			{"websocket.upgrade", "no", docs + "http_upgrade_request_protocols.html"},
		},
		turns: []turn{
			{setting: "", echo: []string{`ECHO_RESPONSE_HEADERS=[{"name":"Cache-Control","value":"max-age=60"}]`}, groups: "response",
				facts: map[string]string{"response.cached": "yes"}},
			{setting: "forwarded_for transparent", groups: "client",
				facts: map[string]string{"client.address": "lost", "client.spoofable[X-Forwarded-For]": "yes"}},
			{setting: "forwarded_for truncate", groups: "client",
				facts: map[string]string{"client.address": "kept", "client.spoofable[X-Forwarded-For]": "not found"}},
			{setting: "login=PASSTHRU", groups: "request", facts: map[string]string{"request.headers.removed": "none"}},
			{setting: "request_header_max_size 16 KB", groups: "request", facts: map[string]string{"request.headers.size": "12Ki"}},
			{setting: "request_body_max_size 1 MB", groups: "body", facts: map[string]string{"body.max": "1Mi"}, varies: "body.chunked"},
			{setting: "http_upgrade_request_protocols websocket allow all", groups: "websocket",
				facts: map[string]string{"websocket.upgrade": "yes", "websocket.messages": "kept"}},
		},
	}
}

// TestSquid_chunks shows that Squid sets Content-Length only if the end of a chunked body arrives before Squid forwards the header.
func TestSquid_chunks(t *testing.T) {
	if os.Getenv("GATEWAYS") != "all" {
		t.Skip("make test-gateways runs this test")
	}
	t.Parallel()
	g := squid()
	url := g.start(t, "")
	const body = "1\r\nx\r\n0\r\n\r\n"
	if a := send(t, url, head("POST", "/", "Transfer-Encoding: chunked")+body); a.Request.ContentLength != 1 {
		t.Errorf("a body that arrives with the header has the length %d", a.Request.ContentLength)
	}
	// The Echo sends the interim response, so it has received the header.
	request := head("POST", "/", "Transfer-Encoding: chunked", "Expect: 100-continue") + afterInterim + body
	if a := send(t, url, request); a.Request.ContentLength != -1 {
		t.Errorf("a body that arrives after the header has the length %d", a.Request.ContentLength)
	}
}

// TestSquid_forwardProxy examines a path that begins at Squid as a forward proxy. Squid would change requests that it reads.
func TestSquid_forwardProxy(t *testing.T) {
	if os.Getenv("GATEWAYS") != "all" {
		t.Skip("make test-gateways runs this test")
	}
	t.Parallel()
	g := squid()
	accelerator := g.config
	g.config = func(setting string) string { return strings.Replace(accelerator(setting), " accel", "", 1) }
	proxy, err := url.Parse(g.start(t, "always_direct allow all"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := pathcheck.Run(t.Context(), &pathcheck.Options{URL: "http://" + startEcho(t), Proxy: proxy, Deadline: 2 * time.Minute})
	if err != nil || report.Problem != "" || report.Proxy != proxy.Host {
		t.Fatalf("%v: %+v", err, report)
	}
	for name, want := range map[string]string{"request.http2": "HTTP/2.0", "request.headers.case": "kept", "request.headers.added": "none",
		"body.chunked": "kept", "websocket.upgrade": "yes", "grpc.unary": "yes", "path.errors": "0", "client.address": "not known"} {
		if got := valueOf(report, name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
