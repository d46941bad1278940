package gateways

func haproxy() gateway {
	const docs = "https://docs.haproxy.org/2.6/configuration.html#"
	return gateway{
		name: "HAProxy", version: []string{"haproxy", "-v"}, run: []string{"haproxy", "-db", "-f", "CONFIG"},
		config: func(setting string) string {
			return `global
 expose-experimental-directives
defaults
 mode http
 timeout connect 5s
 timeout client 60s
 timeout server 60s
listen gateway
 bind LISTEN
 server echo ECHO
 ` + setting + "\n"
		},
		facts: []promise{
			{"request.headers.case", "lower", docs + "h1-case-adjust"},
			{"client.address", "lost", docs + "4.2-option%20forwardfor"},
			{"client.spoofable[X-Forwarded-For]", "yes", docs + "4.2-option%20forwardfor"},
			{"request.version", "HTTP/1.1", docs + "1.1"},
			{"request.host", "kept", docs + "1.2.2"},
			{"body.max", "2Mi", docs + "4.2-option%20http-buffer-request"},
			{"body.request", "streamed", docs + "4.2-option%20http-buffer-request"},
			{"response.stream", "streamed", docs + "4.2-option%20http-no-delay"},
			{"websocket.upgrade", "yes", docs + "4"},
			{"retries.get", "0", docs + "4.2-retry-on"},
		},
		turns: []turn{
			{setting: "option forwardfor", groups: "client",
				facts: map[string]string{"client.address": "kept", "client.spoofable[X-Forwarded-For]": "in front"}},
			{setting: "http-request set-header X-Forwarded-For %[src]", groups: "client",
				facts: map[string]string{"client.address": "kept", "client.spoofable[X-Forwarded-For]": "not found"}},
			{setting: "http-request set-header X-Forwarded-Proto http", groups: "client",
				facts: map[string]string{"client.proto": "reported", "client.spoofable[X-Forwarded-Proto]": "not found"}},
			{setting: "retry-on 503", groups: "retries", facts: map[string]string{"retries.get": "3", "retries.post": "3"}},
			{setting: "http-request deny deny_status 413 if { req.body_size gt 1048576 }", groups: "body",
				facts: map[string]string{"body.max": "1Mi"}},
			{setting: "http-request normalize-uri path-merge-slashes", groups: "request",
				facts: map[string]string{"request.path.doubleSlash": "merged"}},
			{setting: "http-request normalize-uri path-strip-dotdot", groups: "request", facts: map[string]string{"request.path.dots": "resolved"}},
			{setting: "compression algo gzip\n compression type text/plain", groups: "response",
				facts: map[string]string{"response.compression": "text: gzip"}},
			{setting: "unique-id-format %{+X}o%ci%cp%ts%rt\n unique-id-header X-Request-Id", groups: "client",
				facts: map[string]string{"client.requestID": "kept, else generated"}},
		},
	}
}
