package gateways

func caddy() gateway {
	const docs = "https://caddyserver.com/docs/caddyfile/directives/"
	return gateway{
		name: "Caddy", version: []string{"caddy", "version"}, run: []string{"caddy", "run", "--config", "CONFIG", "--adapter", "caddyfile"},
		config: func(setting string) string {
			if setting == "" {
				setting = "reverse_proxy ECHO"
			}
			return "{\n admin off\n}\nhttp://:PORT {\n bind HOST\n " + setting + "\n}\n"
		},
		facts: []promise{
			{"client.address", "kept", docs + "reverse_proxy#defaults"},
			{"client.address.by", "X-Forwarded-For", docs + "reverse_proxy#defaults"},
			{"client.spoofable[X-Forwarded-For]", "not found", docs + "reverse_proxy#defaults"},
			{"client.spoofable[X-Forwarded-Host]", "not found", docs + "reverse_proxy#defaults"},
			{"client.spoofable[X-Forwarded-Proto]", "not found", docs + "reverse_proxy#defaults"},
			{"client.proto", "reported", docs + "reverse_proxy#defaults"},
			{"request.host", "kept", docs + "reverse_proxy#headers"},
			{"websocket.upgrade", "yes", docs + "reverse_proxy"},
			{"response.stream", "streamed", docs + "reverse_proxy#streaming"},
			{"body.max", "2Mi", docs + "request_body"},
		},
		turns: []turn{
			{setting: "reverse_proxy ECHO {\n trusted_proxies 127.0.0.0/8\n }", groups: "client",
				facts: map[string]string{"client.spoofable[X-Forwarded-For]": "in front"}},
			{setting: "request_body {\n max_size 1MiB\n }\n reverse_proxy ECHO", groups: "body", facts: map[string]string{"body.max": "1Mi"}},
			{setting: "reverse_proxy ECHO {\n header_up Host {upstream_hostport}\n }", groups: "request",
				facts: map[string]string{"request.host": "changed"}},
			{setting: "encode gzip\n reverse_proxy ECHO", groups: "response", facts: map[string]string{"response.compression": "gzip"}},
		},
	}
}
