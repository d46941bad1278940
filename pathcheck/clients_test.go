package pathcheck

import (
	"cmp"
	"net/http"
	"net/http/httputil"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/probe"
)

func clientCases() map[string]proxyCase {
	group := []string{"client"}
	forward := func(names ...string) func(*httputil.ProxyRequest) {
		return func(r *httputil.ProxyRequest) {
			for _, name := range names {
				r.Out.Header.Set(name, client127)
			}
		}
	}
	return map[string]proxyCase{
		"nothing is forwarded": {group, changes(nothing), map[string]string{"client.address": "lost", "client.address.by": probe.None,
			"client.spoofable": probe.Yes, "client.spoofable.forwarded": probe.Yes,
			"client.spoofable.host": probe.Yes, "client.proto": "not reported", "client.removable": probe.None, "client.requestID": probe.Kept,
			"client.traceparent": probe.Kept}},
		"the address is forwarded": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("X-Forwarded-For"); r.SetXForwarded() }),
			map[string]string{"client.address": probe.Kept,
				"client.address.by": "X-Forwarded-For", "client.spoofable": probe.No, "client.proto": "reported", "client.removable": probe.No,
				"client.spoofable.host": probe.No, "client.spoofable.proto": probe.No}},
		"the address is appended": {group, changes(func(r *httputil.ProxyRequest) { r.SetXForwarded() }),
			map[string]string{"client.spoofable": "in front"}},
		"X-Real-IP": {group, changes(forward("X-Real-Ip")), map[string]string{"client.address.by": "X-Real-Ip",
			"client.spoofable.realIP": probe.No}},
		"a client can remove headers": {group, changes(func(r *httputil.ProxyRequest) {
			if !strings.Contains(r.In.Header.Get("Connection"), "X-Real-Ip") {
				forward("X-Real-Ip")(r)
			}
		}), map[string]string{"client.removable": probe.Yes}},
		"identifiers are generated": {group, changes(forward("X-Request-Id", "Traceparent")),
			map[string]string{"client.requestID": "replaced, else generated", "client.traceparent": "replaced, else generated"}},
		"identifiers are dropped": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("X-Request-Id") }),
			map[string]string{"client.requestID": probe.Dropped}},
		"spoofed headers forbidden": {group, refuseIf(403, func(r *http.Request) bool { return r.Header.Get("Forwarded") != "" }),
			map[string]string{"client.spoofable": probe.Yes, "client.spoofable.forwarded": "refused 403", "client.spoofable.proto": probe.Yes}},
	}
}

// otherClientCases returns cases that imitate proxies seen in practice.
func otherClientCases() map[string]proxyCase {
	group := []string{"client"}
	set := func(name string, values ...string) func(string) http.Handler {
		return changes(func(r *httputil.ProxyRequest) { r.Out.Header[name] = values })
	}
	const node = "10.0.0.1"
	return map[string]proxyCase{
		"the address of a node": {group, set("X-Forwarded-For", node), map[string]string{"client.address": "replaced",
			"client.address.by": "X-Forwarded-For", "client.spoofable": probe.No}},
		"the address of a NAT, after others": {group, set("X-Forwarded-For", "203.0.113.9, "+node), map[string]string{
			"client.address": "replaced"}},
		"the address of a node in Forwarded": {group, set("Forwarded", `for="[2001:db8::9]:4711";by=`+client127), map[string]string{
			"client.address": "replaced", "client.address.by": "Forwarded", "client.spoofable.forwarded": probe.No}},
		"an obfuscated address (RFC 7239)": {group, set("Forwarded", "for=_SEVKISEK;by=10.0.0.1"), map[string]string{
			"client.address": "lost", "client.address.by": probe.None}},
		"an unknown address": {group, set("X-Forwarded-For", "unknown"), map[string]string{"client.address": "lost"}},
		"an address and a port (CloudFront)": {group, set("Cloudfront-Viewer-Address", client127+":4711"), map[string]string{
			"client.address": probe.Kept, "client.address.by": "Cloudfront-Viewer-Address",
			"client.spoofable.cloudfrontViewerAddress": probe.No}},
		"a custom header (Google's load balancer)": {group, set("X-Shop-Client", client127), map[string]string{
			"client.address": probe.Kept, "client.address.by": "X-Shop-Client", "client.spoofable.other": probe.No}},
		"a custom header that clients can set": {group, unlessSet("X-Shop-Client", client127), map[string]string{
			"client.address.by": "X-Shop-Client", "client.spoofable.other": probe.Yes}},
		"Fastly-Client-IP, which clients can set": {group, unlessSet("Fastly-Client-Ip", client127), map[string]string{
			"client.address.by": "Fastly-Client-Ip", "client.spoofable.fastlyClientIP": probe.Yes}},
		"other headers are dropped": {group, changes(func(r *httputil.ProxyRequest) {
			for _, name := range []string{"Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip", "X-Envoy-External-Address"} {
				r.Out.Header.Del(name)
			}
		}), map[string]string{"client.spoofable.cfConnectingIP": probe.No, "client.spoofable.trueClientIP": probe.No,
			"client.spoofable.clientIP": probe.No, "client.spoofable.envoyExternalAddress": probe.No,
			"client.spoofable.azureClientIP": probe.Yes, "client.spoofable.flyClientIP": probe.Yes}},
		"X-Real-IP from X-Forwarded-For": {group, changes(func(r *httputil.ProxyRequest) {
			first, _, _ := strings.Cut(r.In.Header.Get("X-Forwarded-For"), ",")
			r.Out.Header.Set("X-Real-Ip", cmp.Or(first, client127))
		}), map[string]string{"client.address.by": "X-Real-Ip", "client.spoofable.realIP": probe.Yes}},
		"a list of schemes": {group, set("X-Forwarded-Proto", "https, http"), map[string]string{"client.proto": "list",
			"client.spoofable.proto": probe.No}},
		"two lines of schemes": {group, set("X-Forwarded-Proto", "http", "http"), map[string]string{"client.proto": "list"}},
		"another scheme":       {group, set("X-Forwarded-Proto", "https"), map[string]string{"client.proto": "wrong"}},
		"a scheme in capitals": {group, set("X-Forwarded-Proto", "HTTP"), map[string]string{"client.proto": "reported"}},
		"the scheme in X-Scheme": {group, set("X-Scheme", "http"), map[string]string{"client.proto": "reported",
			"client.proto.by": "X-Scheme"}},
		"a list of hosts":          {group, set("X-Forwarded-Host", "shop.example, 127.0.0.1"), map[string]string{"client.host": "list"}},
		"two lines of ports (ELB)": {group, set("X-Forwarded-Port", "443", "80"), map[string]string{"client.port": "list"}},
		"the port of a proxy":      {group, set("X-Forwarded-Port", "1"), map[string]string{"client.port": "wrong"}},
	}
}

// unlessSet returns a proxy that sets a header unless the client has set it.
func unlessSet(name, value string) func(string) http.Handler {
	return changes(func(r *httputil.ProxyRequest) {
		if r.In.Header.Get(name) == "" {
			r.Out.Header.Set(name, value)
		}
	})
}
