package pathcheck

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// truthCases returns all paths. Each proxy does one thing, also what has misled people who read a report.
func truthCases() []truthCase {
	return slices.Concat(baseCases(), methodCases(), pathCases(), headerCases(), clientAddressCases(), identityCases(), limitCases(),
		settingCases(), bodyTruths(), responseCases(), compressionCases(), webSocketCases(), retryCases(), balancingCases(), firewallCases())
}

// transparentTruth is what is true if net/http's reverse proxy changes nothing on purpose. The Echo's own limits apply.
func transparentTruth() truths {
	all := truths{"client.spoofable[*]": "yes"}
	for values, facts := range map[string]string{
		"kept": "request.method request.methodOther request.path.prefix request.path.encodedSlash request.path.encoding request.path.dots " +
			"request.path.encodedDots request.path.doubleSlash request.path.case request.path.parameters request.query request.host " +
			"request.trailers request.headers.duplicates request.headers.underscores request.headers.bytes client.requestID " +
			"client.traceparent body.chunked body.expect body.range response.status response.earlyHints websocket.subprotocol " +
			"websocket.messages",
		"none": "request.headers.added request.headers.removed request.headers.changed client.address.by client.proto.by client.removable " +
			"body.max.by response.headers.added response.headers.removed response.headers.changed response.compression outlierDetection",
		"not reported": "client.proto client.host client.port websocket.proto",
		"HTTP/1.1":     "request.version request.http2",
		"streamed":     "body.request response.stream",
		"yes":          "websocket.upgrade loadBalancing.keepAlive",
		"no":           "response.cached grpc.unary",
		"0":            "retries.get retries.post retries.reset",
		"Echo":         "request.headers.size.by request.headers.number.by request.url.size.by",
		"*":            "path.errors latency.p50 latency.p99",
		"not found":    "rate.limit", "all": "path.addresses",
		"canonical": "request.headers.case", "24Ki..32Ki": "request.headers.size",
		"70..100": "request.headers.number", "4Ki..8Ki": "request.url.size", "lost": "client.address", "10Mi..1Gi": "body.max",
		"1": "loadBalancing.pods", "one pod": "loadBalancing.affinity", "new each time": "loadBalancing.upstream", ">30s": "timeouts.response",
	} {
		for fact := range strings.FieldsSeq(facts) {
			all[fact] = values
		}
	}
	return all
}

// directTruth is what is true if there is no proxy.
func directTruth() truths {
	return merge(transparentTruth(), truths{"client.address": "kept", "client.address.by": "connection", "request.headers.case": "kept",
		"request.http2": "HTTP/2.0", "grpc.unary": "yes", "grpc.stream": "streamed"})
}

// settingCases returns a case without a proxy for each setting of the Echo that changes responses, redaction, or controls. A setting is no
// property of the path.
func settingCases() (all []truthCase) {
	for _, setting := range []string{
		"IDENTITY=false", "CONTROLS=None", "CONTROLS=Safe", "MAX_HEADER_BYTES=16384", "MAX_HEADER_BYTES=65536",
		"RESPONSE_STATUS=201", "RESPONSE_STATUS=204", "RESPONSE_STATUS=404", "RESPONSE_STATUS=503",
		"RESPONSE_BODY=hello", `RESPONSE_BODY={"path":"/pathcheck","method":"GET","proto":"HTTP/1.1","headers":{},"request":{}}`,
		"RESPONSE_DELAY=300ms",
		`RESPONSE_HEADERS=[{"name":"Cache-Control","value":"public, max-age=60"}]`,
		`RESPONSE_HEADERS=[{"name":"Content-Type","value":"text/plain"}]`,
		`RESPONSE_HEADERS=[{"name":"Set-Cookie","value":"a=1"},{"name":"Retry-After","value":"3"},{"name":"Server","value":"x"}]`,
		`RESPONSE_HEADERS=[{"name":"X-Forwarded-For","value":"192.0.2.1"},{"name":"Vary","value":"Accept"}]`,
		"REDACT_HEADERS=X-Forwarded-For,X-Forwarded-Host,X-Forwarded-Proto,Forwarded,X-Request-Id,X-Real-IP",
		"REDACT_HEADERS=X-Pathcheck-Twice,X-Pathcheck-Size,X-Pathcheck-Name,X_Pathcheck_Name,X-Pathcheck-Bytes,Traceparent,Expect,Range,Accept-Language", "REDACT_HEADERS=",
		"TRUSTED_PROXIES=0.0.0.0/0,::/0",
		`RESPONSE_FAULTS=[{"percentage":2,"statusCode":503}]`,
	} {
		c := truthCase{name: "setting " + setting, direct: true, echo: []string{"ECHO_" + setting}}
		switch {
		case setting == "MAX_HEADER_BYTES=16384":
			c.truth, c.shown = truths{"request.headers.size": "8Ki..16Ki"}, "request.headers.size.by"
		case setting == "MAX_HEADER_BYTES=65536":
			c.truth, c.shown = truths{"request.headers.size": "63Ki", "request.headers.size.by": "none", "request.headers.number": "*",
				"request.headers.number.by": "*"}, "request.headers.size request.headers.size.by"
		case strings.Contains(setting, "max-age"):
			c.truth = truths{"response.cached": "no"}
		}
		all = append(all, c)
	}
	return all
}

func baseCases() []truthCase {
	return []truthCase{
		{name: "direct", direct: true},
		{name: "transparent", shown: "request.headers.size.by request.headers.number.by request.url.size.by"},
		{name: "NAT", nat: true, truth: truths{"client.address": "lost", "client.address.by": "none"}},
		{name: "TLS", tls: true, url: "https://shop.example.com/", truth: truths{"tls.termination": "proxy", "tls.version": "TLS 1.3",
			"tls.minVersion": "*TLS 1.2", "tls.cipher": "*", "tls.alpn": "h2", "tls.trust": "no*", "tls.name": "*", "tls.chain": "1",
			"tls.daysLeft": "*"}},
		{name: "connections are reused", transport: reusing, truth: truths{"loadBalancing.upstream": "reused", "retries.reset": "0..300"}},
		{name: "HTTP 1.0 to the pods", transport: overHTTP10, truth: truths{"request.version": "HTTP/1.0", "request.http2": "HTTP/1.0",
			"body.chunked": "length set", "body.request": "buffered", "body.expect": "sent by proxy", "request.trailers": "dropped",
			"response.earlyHints": "dropped", "websocket.upgrade": "no"}},
		{name: "HTTP 2 to the pods", transport: overH2C, truth: truths{"request.version": "HTTP/2.0", "request.http2": "HTTP/2.0",
			"request.headers.case": "lower", "websocket.upgrade": "no|refused 502", "websocket.proto": "not reported|refused 502",
			"body.expect": "kept|sent by proxy", "grpc.unary": "yes", "grpc.stream": "streamed",
			"loadBalancing.upstream": "*", "retries.reset": "0..300"}},
		{name: "HTTP 2 is refused", serve: func(s *http.Server) { s.Protocols.SetUnencryptedHTTP2(false) }, truth: truths{"request.http2": "no"}},
		{name: "one address is dead", hosts: map[string][]string{"shop.example.com": {deadIP, proxyIP}},
			truth: truths{"report.address": proxyIP + ":80", "path.addresses": "1 of 2"}},
		{name: "one address has no route", hosts: map[string][]string{"shop.example.com": {unroutedIP, proxyIP}},
			truth: truths{"report.address": proxyIP + ":80", "path.addresses": "unknown"}}, // so that any value is false
		{name: "of seven addresses, the last is dead", truth: truths{"report.address": proxyIP + ":80", "path.addresses": "unknown|? of 5"},
			vague: true, hosts: map[string][]string{"shop.example.com": append(slices.Repeat([]string{proxyIP}, 6), deadIP)}},
		{name: "one address is silent", hosts: map[string][]string{"shop.example.com": {silentIP, proxyIP}},
			truth: truths{"report.address": proxyIP + ":80", "path.addresses": "1 of 2"}},
	}
}

func merge(all ...truths) truths {
	merged := truths{}
	for _, each := range all {
		maps.Copy(merged, each)
	}
	return merged
}

// refuse responds with a page to some requests.
func refuse(status int, when func(*http.Request) bool) func(*bench, http.Handler) http.Handler {
	return instead(pageOf(status), when)
}

// instead handles some requests instead of the proxy.
func instead(handle http.HandlerFunc, when func(*http.Request) bool) func(*bench, http.Handler) http.Handler {
	return wrap(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if when(r) {
			handle(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// wrap calls a function instead of the proxy.
func wrap(handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) func(*bench, http.Handler) http.Handler {
	return func(_ *bench, next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, next) })
	}
}

func methodCases() []truthCase {
	var all []truthCase
	for _, method := range []string{"HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "BREW"} {
		fact := "request.method"
		if slices.Contains([]string{"TRACE", "PROPFIND", "BREW"}, method) {
			fact = "request.methodOther"
		}
		c := truthCase{name: method + " is refused", around: refuse(405, func(r *http.Request) bool { return r.Method == method }),
			truth: truths{fact: "refused {" + method + "}"}}
		if method == "POST" { // facts about bodies may be about POST
			for _, each := range []string{"body.max", "body.chunked", "body.request", "body.expect", "request.trailers", "retries.post",
				"grpc.unary"} {
				c.truth[each] = transparentTruth()[each] + "|refused 405"
			}
			c.truth["body.max"] += "|refused reset" // a server that closes the connection before it has read the body can lose its response
			c.truth["body.max.by"] = "none|proxy"
		}
		all = append(all, c)
	}
	all = append(all, truthCase{name: "a POST without a length is refused", shown: "request.method", around: refuse(411,
		func(r *http.Request) bool {
			return r.Method == http.MethodPost && r.Header.Get("Content-Length") == "" && len(r.TransferEncoding) == 0
		})})
	return append(all, truthCase{name: "HEAD is sent as GET", truth: truths{"request.method": "changed {HEAD}"},
		request: func(r *httputil.ProxyRequest) { r.Out.Method = strings.Replace(r.In.Method, "HEAD", "GET", 1) }})
}

// rewritePath changes the path as it was sent, with its escapes.
func rewritePath(rewrite func(string) string) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) {
		r.Out.URL.RawPath = rewrite(r.In.URL.EscapedPath())
		r.Out.URL.Path, _ = url.PathUnescape(r.Out.URL.RawPath) // it was valid
	}
}

func replace(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }

func rewriteQuery(rewrite func(string) string) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) { r.Out.URL.RawQuery = rewrite(r.In.URL.RawQuery) }
}

func pathCases() []truthCase {
	dots := func(text string) string { return regexp.MustCompile(`/[^/]+/\.\./`).ReplaceAllString(text, "/") }
	lower := func(text string) string {
		return regexp.MustCompile(`%..|[A-Z]`).ReplaceAllStringFunc(text, func(s string) string {
			if len(s) > 1 {
				return s
			}
			return strings.ToLower(s)
		})
	}
	root := rewritePath(func(string) string { return "/" })
	return []truthCase{
		{name: "the host is in lower case", url: "http://Shop.example.com/", hosts: map[string][]string{"Shop.example.com": {proxyIP}},
			request: func(r *httputil.ProxyRequest) { r.Out.Host = strings.ToLower(r.In.Host) }, shown: "request.host"},
		{name: "escaped slashes are decoded", request: rewritePath(replace("%2F", "/")), truth: truths{"request.path.encodedSlash": "decoded"}},
		{name: "escaped slashes are refused", around: refuse(404, func(r *http.Request) bool { return strings.Contains(r.URL.RawPath, "%2F") }),
			truth: truths{"request.path.encodedSlash": "refused 404"}},
		{name: "slashes are merged", request: rewritePath(replace("//", "/")), truth: truths{"request.path.doubleSlash": "merged"}},
		{name: "dots are resolved", request: rewritePath(dots), truth: truths{"request.path.dots": "resolved"}},
		{name: "paths are in lower case", request: rewritePath(lower), truth: truths{"request.path.case": "lower"}},
		{name: "parameters of paths are dropped", request: rewritePath(func(s string) string { s, _, _ = strings.Cut(s, ";"); return s }),
			truth: truths{"request.path.parameters": "dropped|changed"}},
		{name: "paths are normalized",
			request: func(r *httputil.ProxyRequest) { r.Out.URL.Path, r.Out.URL.RawPath = path.Clean(r.In.URL.Path), "" },
			truth: truths{"request.path.encodedSlash": "decoded", "request.path.encoding": "decoded", "request.path.dots": "resolved",
				"request.path.encodedDots": "resolved", "request.path.doubleSlash": "merged", "request.path.case": "escapes in upper case"}},
		{name: "a prefix is removed", url: "http://shop.example.com/shop/",
			request: rewritePath(func(s string) string { return strings.TrimPrefix(s, "/shop") }),
			truth:   truths{"request.path.prefix": "removed"}},
		{name: "a prefix is added", request: rewritePath(func(s string) string { return "/v1" + s }),
			truth: truths{"request.path.prefix": "changed", "grpc.unary": "no*"}},
		{name: "paths are replaced", request: root, shown: "request.path.prefix request.path.case", also: "changed", truth: truths{"body.max": "8Mi..1Gi"}},
		{name: "paths are replaced, and the body is fixed", request: root, vague: true, echo: []string{"ECHO_RESPONSE_BODY=hello"}},
		{name: "queries are sorted", truth: truths{"request.query": "changed"}, request: rewriteQuery(func(s string) string {
			parts := strings.Split(s, "&")
			slices.Sort(parts)
			return strings.Join(parts, "&")
		})},
		{name: "queries are dropped", request: rewriteQuery(func(string) string { return "" }), truth: truths{"request.query": "dropped", "body.max": "8Mi..1Gi"}},
		{name: "a parameter is added", truth: truths{"request.query": "changed"},
			request: rewriteQuery(func(s string) string { return strings.TrimPrefix(s+"&tenant=a", "&") })},
		{name: "the host is replaced", request: func(r *httputil.ProxyRequest) { r.Out.Host = "internal" },
			truth: truths{"request.host": "changed"}},
	}
}

func set(pairs ...string) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) {
		for pair := range slices.Chunk(pairs, 2) {
			r.Out.Header.Set(pair[0], pair[1])
		}
	}
}

func drop(names ...string) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) {
		for _, each := range names {
			r.Out.Header.Del(each)
		}
	}
}

// eachField changes each field of requests.
func eachField(change func(name string, values []string) (string, []string)) func(*httputil.ProxyRequest) {
	return func(r *httputil.ProxyRequest) {
		changed := http.Header{}
		for name, values := range r.Out.Header {
			name, values = change(name, values)
			changed[name] = values
		}
		r.Out.Header = changed
	}
}

// hasField reports whether a request has such a field.
func hasField(when func(name string, values []string) bool) func(*http.Request) bool {
	return func(r *http.Request) bool {
		for name, values := range r.Header {
			if when(name, values) {
				return true
			}
		}
		return false
	}
}

func headerCases() []truthCase {
	odd := func(_ string, values []string) bool {
		return strings.ContainsFunc(strings.Join(values, ""), func(r rune) bool { return r > '~' })
	}
	underscored := func(name string, _ []string) bool { return strings.Contains(name, "_") }
	lower := func(name string, values []string) (string, []string) {
		if slices.Contains([]string{"User-Agent", "Expect", "Upgrade", "Connection"}, name) { // net/http needs them
			return name, values
		}
		return strings.ToLower(name), values
	}
	hyphens := func(name string, values []string) (string, []string) {
		return strings.ReplaceAll(name, "_", "-"), values
	}
	merged := func(name string, values []string) (string, []string) {
		return name, []string{strings.Join(values, ", ")}
	}
	first := func(name string, values []string) (string, []string) { return name, values[:1] }
	last := func(name string, values []string) (string, []string) { return name, values[len(values)-1:] }
	return []truthCase{
		{name: "a header is added", request: set("Via", "1.1 a"), truth: truths{"request.headers.added": "Via", "client.removable": "not found"}},
		{name: "a header is removed", request: drop("Accept-Language"), truth: truths{"request.headers.removed": "Accept-Language"}},
		{name: "Accept-Encoding is removed", request: drop("Accept-Encoding"), truth: truths{"request.headers.removed": "Accept-Encoding"}},
		{name: "a header is changed", request: set("Prefer", "x"),
			truth: truths{"request.headers.changed": "Prefer", "request.headers.added": "none|Prefer", "client.removable": "not found"}},
		{name: "names are in lower case", request: eachField(lower), truth: truths{"request.headers.case": "lower"}},
		{name: "duplicates are merged", request: eachField(merged), truth: truths{"request.headers.duplicates": "merged"}},
		{name: "the first duplicate is kept", request: eachField(first), truth: truths{"request.headers.duplicates": "first"}},
		{name: "the last duplicate is kept", request: eachField(last), truth: truths{"request.headers.duplicates": "last"}},
		{name: "underscores are dropped", truth: truths{"request.headers.underscores": "dropped"},
			request: func(r *httputil.ProxyRequest) { maps.DeleteFunc(r.Out.Header, underscored) }},
		{name: "underscores become hyphens", request: eachField(hyphens), truth: truths{"request.headers.underscores": "renamed"}},
		{name: "underscores are refused", around: refuse(400, hasField(underscored)),
			truth: truths{"request.headers.underscores": "refused 400"}},
		{name: "bytes are refused", around: refuse(400, hasField(odd)), truth: truths{"request.headers.bytes": "refused 400"}},
		{name: "bytes are dropped", truth: truths{"request.headers.bytes": "dropped"},
			request: func(r *httputil.ProxyRequest) { maps.DeleteFunc(r.Out.Header, odd) }},
	}
}

// joined returns the values of a header in one line, with another value at the end.
func joined(r *http.Request, name, value string) string {
	return strings.Join(append(slices.Clone(r.Header[name]), value), ", ")
}

// addressed is what is true if a header has the client's address. Spoofable is whether a client can choose it.
func addressed(header, spoofable string) truths {
	return truths{"client.address": "kept", "client.address.by": header, "client.removable": "not found", "request.headers.added": header,
		"client.spoofable[" + header + "]": spoofable}
}

func clientAddressCases() []truthCase {
	const forwarded, custom, scheme = "X-Forwarded-For", "X-Shop-Client", "X-Forwarded-Proto"
	element := "for=" + clientIP + ";proto=http;host=shop.example.com"
	reserved := regexp.MustCompile(`^(192\.0\.2|198\.51\.100|203\.0\.113|10|127|192\.168|2001:db8)\b`)
	forward := merge(addressed("Forwarded", "not found"), truths{"client.proto": "reported", "client.proto.by": "Forwarded",
		"client.host":     "reported",
		"websocket.proto": "http"})
	others := func(value string) truths {
		return merge(addressed(custom, value), truths{"client.spoofable[Other]": value})
	}
	named := func(r *httputil.ProxyRequest, name string) bool {
		return strings.Contains(strings.ToLower(r.In.Header.Get("Connection")), strings.ToLower(name))
	}
	return []truthCase{
		{name: "some of the proxies add a header", truth: truths{"client.removable": "none|not found", "request.headers.added": "none|Via"},
			around: func(b *bench, next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if b.next(ofProxy)%2 == 0 {
						r.Header.Set("Via", "1.1 a")
					}
					next.ServeHTTP(w, r)
				})
			}, vague: true},
		{name: "X-Forwarded-For is appended to", truth: addressed(forwarded, "in front"),
			request: func(r *httputil.ProxyRequest) { r.Out.Header.Set(forwarded, joined(r.In, forwarded, clientIP)) }},
		{name: "X-Forwarded-For is replaced", request: set(forwarded, clientIP), truth: addressed(forwarded, "not found")},
		{name: "X-Forwarded-For is dropped", request: drop(forwarded), truth: truths{"client.spoofable[X-Forwarded-For]": "not found"}},
		{name: "X-Forwarded-For has another address", request: set(forwarded, "203.0.113.7"),
			truth: merge(addressed(forwarded, "not found"), truths{"client.address": "replaced"})},
		{name: "Forwarded is replaced", request: set("Forwarded", element), truth: forward},
		{name: "Forwarded is appended to",
			request: func(r *httputil.ProxyRequest) { r.Out.Header.Set("Forwarded", joined(r.In, "Forwarded", element)) },
			truth:   merge(forward, truths{"client.spoofable[Forwarded]": "in front"})},
		{name: "X-Real-IP is replaced", request: set("X-Real-Ip", clientIP), truth: addressed("X-Real-Ip", "not found")},
		{name: "X-Real-IP comes from X-Forwarded-For", truth: addressed("X-Real-Ip", "yes"), request: func(r *httputil.ProxyRequest) {
			first, _, _ := strings.Cut(r.In.Header.Get(forwarded), ",")
			r.Out.Header.Set("X-Real-Ip", cmp.Or(first, clientIP))
		}},
		{name: "a custom header is replaced", request: set(custom, clientIP), truth: others("not found")},
		{name: "a custom header passes", truth: others("yes"), request: func(r *httputil.ProxyRequest) {
			r.Out.Header.Set(custom, cmp.Or(r.In.Header.Get(custom), clientIP))
		}},
		{name: "X-Real-IP can be removed", truth: merge(addressed("X-Real-Ip", "not found"), truths{"client.removable": "yes"}),
			request: func(r *httputil.ProxyRequest) {
				if r.Out.Header.Del("X-Real-Ip"); !named(r, "X-Real-Ip") {
					r.Out.Header.Set("X-Real-Ip", clientIP)
				}
			}},
		{name: "X-Auth-User can be removed", truth: truths{"client.removable": "yes", "request.headers.added": "X-Auth-User"},
			request: func(r *httputil.ProxyRequest) { // as Apache's RequestHeader set
				if r.Out.Header.Del("X-Auth-User"); !named(r, "X-Auth-User") {
					r.Out.Header.Set("X-Auth-User", "guest")
				}
			}},
		{name: "X-Forwarded-Proto passes if it is a scheme",
			truth: truths{"client.spoofable[X-Forwarded-Proto]": "yes", "client.proto": "reported",
				"client.proto.by": scheme, "websocket.proto": "http", "request.headers.added": scheme, "client.removable": "not found"},
			request: func(r *httputil.ProxyRequest) {
				if sent := r.In.Header.Get(scheme); sent != "http" && sent != "https" {
					r.Out.Header.Set(scheme, "http")
				}
			}},
		{name: "reserved addresses are dropped", request: func(r *httputil.ProxyRequest) {
			for sent := range strings.SplitSeq(r.In.Header.Get(forwarded), ",") {
				if reserved.MatchString(strings.TrimSpace(sent)) {
					r.Out.Header.Del(forwarded)
				}
			}
		}},
		{name: "addresses in responses are masked", vague: true, truth: addressed(forwarded, "in front"), response: editBody(func(s string) string {
			return regexp.MustCompile(`\d+\.\d+\.\d+\.\d+`).ReplaceAllString(s, "x.x.x.x")
		}), request: func(r *httputil.ProxyRequest) { r.Out.Header.Set(forwarded, joined(r.In, forwarded, clientIP)) }},
	}
}

func identityCases() []truthCase {
	const id, trace = "X-Request-Id", "Traceparent"
	const value = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	missing := func(name, value string) func(*httputil.ProxyRequest) {
		return func(r *httputil.ProxyRequest) { r.Out.Header.Set(name, cmp.Or(r.In.Header.Get(name), value)) }
	}
	made := func(fact, header, value string) truths {
		return truths{fact: value, "request.headers.added": header, "client.removable": "not found"}
	}
	uuid := regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	scheme := func(value, shown string) truthCase {
		return truthCase{name: "X-Forwarded-Proto is " + value, request: set("X-Forwarded-Proto", value), truth: truths{"client.proto": shown,
			"client.proto.by": "X-Forwarded-Proto", "client.spoofable[X-Forwarded-Proto]": "not found", "client.removable": "not found",
			"request.headers.added": "X-Forwarded-Proto", "websocket.proto": cmp.Or(map[string]string{"list": "list"}[shown], value)}}
	}
	return []truthCase{
		scheme("http", "reported"), scheme("https", "wrong"), scheme("https, http", "list"),
		{name: "the host and the port are reported", request: set("X-Forwarded-Host", "shop.example.com", "X-Forwarded-Port", "80"),
			truth: truths{"client.host": "reported", "client.port": "reported", "client.spoofable[X-Forwarded-Host]": "not found",
				"client.removable": "not found", "request.headers.added": "*"}},
		{name: "missing request IDs are generated", request: missing(id, "7"), truth: made("client.requestID", id, "kept, else generated")},
		{name: "request IDs are replaced", request: set(id, "7"), truth: made("client.requestID", id, "replaced, else generated")},
		{name: "request IDs are kept if they are UUIDs", truth: made("client.requestID", id, "kept, else generated|*UUID*"),
			request: func(r *httputil.ProxyRequest) {
				if !uuid.MatchString(r.In.Header.Get(id)) {
					r.Out.Header.Set(id, "6d3a3c1c-6c0f-4f4c-9a35-0d5a3f4b2c1d")
				}
			}},
		{name: "missing trace IDs are generated", request: missing(trace, value),
			truth: made("client.traceparent", trace, "kept, else generated")},
		{name: "trace IDs are replaced", request: set(trace, value), truth: made("client.traceparent", trace, "replaced, else generated")},
	}
}

// editBody changes the bodies of responses that are short texts.
func editBody(edit func(string) string) func(*http.Response) error {
	return func(r *http.Response) error {
		if r.ContentLength <= 0 || r.ContentLength > 1<<20 || r.Request.Method == http.MethodHead { // a WebSocket has the length 0
			return nil
		}
		body, err := io.ReadAll(r.Body)
		setBody(r, []byte(edit(string(body))))
		return err
	}
}

func setBody(r *http.Response, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Del("Content-Length")
}

// ownPage replaces a response by the proxy's page, as nginx's error_page does.
func ownPage(statuses ...int) func(*http.Response) error {
	return func(r *http.Response) error {
		if slices.Contains(statuses, r.StatusCode) {
			r.Header = http.Header{"Content-Type": {"text/html"}, "Date": r.Header["Date"]}
			setBody(r, []byte("<html>sorry</html>"))
		}
		return nil
	}
}
