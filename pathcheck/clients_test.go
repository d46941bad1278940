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
			"client.spoofable[X-Forwarded-For]": probe.Yes, "client.spoofable[Forwarded]": probe.Yes,
			"client.spoofable[X-Forwarded-Host]": probe.Yes, "client.proto": "not reported", "client.removable": probe.None, "client.requestID": probe.Kept,
			"client.traceparent": probe.Kept}},
		"the address is forwarded": {group, changes(func(r *httputil.ProxyRequest) { r.Out.Header.Del("X-Forwarded-For"); r.SetXForwarded() }),
			map[string]string{"client.address": probe.Kept,
				"client.address.by": "X-Forwarded-For", "client.spoofable[X-Forwarded-For]": probe.NotFound, "client.proto": "reported", "client.removable": probe.NotFound,
				"client.spoofable[X-Forwarded-Host]": probe.NotFound, "client.spoofable[X-Forwarded-Proto]": probe.NotFound}},
		"the address is appended": {group, changes(func(r *httputil.ProxyRequest) { r.SetXForwarded() }),
			map[string]string{"client.spoofable[X-Forwarded-For]": "in front"}},
		"X-Real-IP": {group, changes(forward("X-Real-Ip")), map[string]string{"client.address.by": "X-Real-IP",
			"client.spoofable[X-Real-IP]": probe.NotFound}},
		"a client can remove headers": {group, changes(func(r *httputil.ProxyRequest) {
			if !strings.Contains(r.In.Header.Get("Connection"), "X-Real-Ip") {
				forward("X-Real-Ip")(r)
			}
		}), map[string]string{"client.removable": probe.Yes}},
		"identifiers are generated": {group, changes(forward("X-Request-Id", "Traceparent")),
			map[string]string{"client.requestID": "replaced, else generated", "client.traceparent": "replaced, else generated"}},
		"spoofed headers forbidden": {group, refuseIf(403, func(r *http.Request) bool { return r.Header.Get("Forwarded") != "" }),
			map[string]string{"client.spoofable[X-Forwarded-For]": probe.Yes, "client.spoofable[Forwarded]": "refused 403", "client.spoofable[X-Forwarded-Proto]": probe.Yes}},
		"a custom header that clients can set": {group, changes(func(r *httputil.ProxyRequest) {
			if r.In.Header.Get("X-Shop-Client") == "" {
				r.Out.Header.Set("X-Shop-Client", client127)
			}
		}), map[string]string{"client.address.by": "X-Shop-Client", "client.spoofable[X-Shop-Client]": probe.Yes}},
		"other headers are dropped": {group, changes(func(r *httputil.ProxyRequest) {
			for _, name := range []string{"Cf-Connecting-Ip", "True-Client-Ip", "X-Client-Ip", "X-Envoy-External-Address"} {
				r.Out.Header.Del(name)
			}
		}), map[string]string{"client.spoofable[CF-Connecting-IP]": probe.NotFound, "client.spoofable[True-Client-IP]": probe.NotFound,
			"client.spoofable[X-Client-IP]": probe.NotFound, "client.spoofable[X-Envoy-External-Address]": probe.NotFound,
			"client.spoofable[X-Azure-ClientIP]": probe.Yes, "client.spoofable[Fly-Client-IP]": probe.Yes}},
		"X-Real-IP from X-Forwarded-For": {group, changes(func(r *httputil.ProxyRequest) {
			first, _, _ := strings.Cut(r.In.Header.Get("X-Forwarded-For"), ",")
			r.Out.Header.Set("X-Real-Ip", cmp.Or(first, client127))
		}), map[string]string{"client.address.by": "X-Real-IP", "client.spoofable[X-Real-IP]": probe.Yes}},
	}
}
