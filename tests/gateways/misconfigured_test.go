package gateways

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck"
)

// mistake is a part of the nginx configuration, in a correct and an incorrect version.
type mistake struct{ right, wrong, fact, want string }

// mistakes returns the mistakes that the test can make. "proxy_buffering on" is not included, because over HTTP/1.1, nginx streams events
// even with this directive.
func mistakes() []mistake {
	return []mistake{
		{"client_max_body_size 20m;", "client_max_body_size 1m;", "body.max", ">=16Mi"},
		{"underscores_in_headers on;", "underscores_in_headers off;", "request.headers.underscores", "kept"},
		{"large_client_header_buffers 4 16k;", "large_client_header_buffers 4 8k;", "request.headers.size", ">=12Ki"},
		{"proxy_set_header X-Forwarded-For $remote_addr;", "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;", "client.spoofable",
			"no"},
		{"proxy_set_header X-Forwarded-Proto $scheme;", "proxy_set_header X-Forwarded-Proto https;", "client.proto", "reported"},
		{"proxy_set_header Host $http_host;", "proxy_set_header Host $proxy_host;", "request.host", "kept"},
		{"", "proxy_set_header X-Request-ID $request_id;", "client.requestID", "kept"},
		{"", `proxy_set_header Range "";`, "body.range", "kept"},
		{"proxy_request_buffering off;", "proxy_request_buffering on;", "body.request", "streamed"},
		{"proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $upgrade;", "", "websocket.upgrade", "yes"},
		{"", "gzip on; gzip_types text/plain;", "response.compression", "none"},
		{"", "proxy_intercept_errors on; error_page 500 503 =503 @page; location @page { return 503 page; }", "response.status", "kept"},
	}
}

// TestMisconfigured puts five random mistakes into the nginx configuration. The report must identify exactly these mistakes.
func TestMisconfigured(t *testing.T) {
	if os.Getenv("GATEWAYS") == "traefik" {
		t.Skip("it is about nginx")
	}
	all, settings := mistakes(), []string{"proxy_http_version 1.1;"}
	var wrong []string
	for i, at := range rand.Perm(len(all)) {
		setting := all[at].right
		if i < 5 {
			setting = all[at].wrong
			wrong = append(wrong, all[at].fact)
		}
		settings = append(settings, setting)
	}
	g := nginx()
	plain := g.config
	g.config = func(setting string) string {
		return strings.Replace(plain(setting), "server {", `map $http_upgrade $upgrade { default upgrade; "" ""; } server {`, 1)
	}
	var expect []pathcheck.Expectation
	for _, each := range all {
		expect = append(expect, pathcheck.Expectation{Name: each.fact, Want: each.want})
	}
	report := check(t, g.start(t, strings.Join(settings, " ")), "", expect...)
	var failed []string
	for _, each := range report.Expected {
		if !each.OK {
			failed = append(failed, each.Name)
		}
	}
	slices.Sort(failed)
	slices.Sort(wrong)
	if !slices.Equal(failed, wrong) {
		t.Errorf("with %q, the report names %q, want %q", settings, failed, wrong)
	}
	writeReport(t, "misconfigured", report)
}
