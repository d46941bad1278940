package gateways

import "strings"

// squid returns Squid as an accelerator, which is its name for a reverse proxy.
func squid() gateway {
	const docs = "http://www.squid-cache.org/Versions/v5/cfgman/"
	return gateway{
		name: "Squid", version: []string{"squid", "-v"}, run: []string{"squid", "-N", "-f", "CONFIG", "-n", "gatewayPORT"},
		varies: "body.chunked", // Squid sets Content-Length only if the end of the body arrives before it forwards the header
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
