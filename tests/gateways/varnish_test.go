package gateways

func varnish() gateway {
	const docs = "https://varnish-cache.org/docs/7.1/"
	return gateway{
		name: "Varnish", version: []string{"varnishd", "-V"},
		run: []string{"varnishd", "-F", "-j", "none", "-n", "DIR", "-a", "LISTEN", "-f", "CONFIG", "-s", "malloc,32m"},
		config: func(setting string) string {
			return "vcl 4.1;\nbackend default { .host = \"127.0.0.1\"; .port = \"" + "ECHO_PORT" + "\"; }\n" + setting + "\n"
		},
		facts: []promise{
			{"body.range", "served by proxy", docs + "reference/varnishd.html#http-range-support"},
			{"response.cached", "no", docs + "users-guide/increasing-your-hitrate.html#cache-control"},
			{"client.address", "kept", docs + "reference/vcl-var.html"},
			{"client.spoofable[X-Forwarded-For]", "in front", docs + "reference/vcl-var.html"},
			{"websocket.upgrade", "no", docs + "users-guide/vcl-example-websockets.html"},
			{"request.http2", "no", docs + "reference/varnishd.html#feature"},
			{"request.methodOther", "kept", docs + "users-guide/vcl-built-in-subs.html#vcl-recv"},
			{"response.compression", "none", docs + "users-guide/compression.html"},
			{"response.stream", "streamed", docs + "reference/vcl-var.html#beresp-do-stream"},
			{"request.host", "kept", docs + "users-guide/vcl-backends.html"},
		},
		turns: []turn{
			{setting: "", echo: []string{`ECHO_RESPONSE_HEADERS=[{"name":"Cache-Control","value":"max-age=60"}]`}, groups: "response",
				facts: map[string]string{"response.cached": "yes"}},
			{
				setting: "sub vcl_recv { if (req.http.upgrade ~ \"(?i)websocket\") { return (pipe); } }\nsub vcl_pipe { set bereq.http.upgrade = " +
					"req.http.upgrade; set bereq.http.connection = req.http.connection; }",
				groups: "websocket", facts: map[string]string{"websocket.upgrade": "yes"}},
			{setting: "sub vcl_recv { set req.http.X-Forwarded-For = client.ip; }", groups: "client",
				facts: map[string]string{"client.address": "kept", "client.spoofable[X-Forwarded-For]": "not found"}},
		},
	}
}
