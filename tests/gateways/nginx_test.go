package gateways

func nginx() gateway {
	const docs = "http://nginx.org/en/docs/http/ngx_http_"
	return gateway{
		name: "nginx", version: []string{"nginx", "-v"}, run: []string{"nginx", "-c", "CONFIG", "-p", "DIR", "-e", "stderr", "-g", "daemon off;"},
		config: func(setting string) string {
			return `worker_processes 1; pid DIR/pid; events {}
http {
 access_log off; client_body_temp_path DIR/body; proxy_temp_path DIR/proxy; fastcgi_temp_path DIR/fastcgi; uwsgi_temp_path DIR/uwsgi; scgi_temp_path DIR/scgi;
 server { listen LISTEN; location / { proxy_pass http://ECHO; } ` + setting + ` }
}`
		},
		facts: []promise{
			{"body.max", "1Mi", docs + "core_module.html#client_max_body_size"},
			{"request.headers.underscores", "dropped", docs + "core_module.html#underscores_in_headers"},
			{"request.version", "HTTP/1.0", docs + "proxy_module.html#proxy_http_version"},
			{"response.stream", "buffered", docs + "proxy_module.html#proxy_buffering"},
			{"body.request", "buffered", docs + "proxy_module.html#proxy_request_buffering"},
			{"body.chunked", "length set", docs + "proxy_module.html#proxy_request_buffering"},
			{"request.host", "changed", docs + "proxy_module.html#proxy_set_header"},
			{"client.address", "lost", docs + "proxy_module.html#proxy_set_header"},
			{"request.headers.size", "4Ki", docs + "core_module.html#large_client_header_buffers"},
			{"websocket.upgrade", "no", "http://nginx.org/en/docs/http/websocket.html"},
			{"client.spoofable[X-Forwarded-For]", "yes", docs + "proxy_module.html#proxy_pass_request_headers"},
		},
		turns: []turn{
			{setting: "client_max_body_size 10m;", groups: "body", facts: map[string]string{"body.max": "10Mi"}},
			{setting: "underscores_in_headers on;", groups: "request", facts: map[string]string{"request.headers.underscores": "kept"}},
			{setting: "large_client_header_buffers 4 16k;", groups: "request", facts: map[string]string{"request.headers.size": "12Ki"}},
			{setting: "proxy_http_version 1.1;", groups: "request,response",
				facts: map[string]string{"request.version": "HTTP/1.1", "response.stream": "streamed"}},
			{setting: "proxy_http_version 1.1; proxy_request_buffering off;", groups: "body", facts: map[string]string{"body.request": "streamed"},
				varies: "body.chunked"}, // nginx sets the length if the whole body arrives with the header
			{setting: "proxy_buffering off;", groups: "response", facts: map[string]string{"response.stream": "streamed"}},
			{setting: "proxy_set_header Host $http_host;", groups: "request", facts: map[string]string{"request.host": "kept"}},
			{setting: "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;", groups: "client",
				facts: map[string]string{"client.address": "kept", "client.spoofable[X-Forwarded-For]": "in front"}},
			{setting: "proxy_set_header X-Forwarded-For $remote_addr;", groups: "client",
				facts: map[string]string{"client.address": "kept", "client.spoofable[X-Forwarded-For]": "not found"}},
			{setting: "proxy_set_header X-Forwarded-Proto $scheme;", groups: "client",
				facts: map[string]string{"client.proto": "reported", "client.spoofable[X-Forwarded-Proto]": "not found"}},
			{setting: "proxy_set_header X-Request-ID $request_id;", groups: "client",
				facts: map[string]string{"client.requestID": "replaced, else generated"}},
			{setting: `proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";`, groups: "websocket",
				facts: map[string]string{"websocket.upgrade": "yes", "websocket.messages": "kept"}},
			{setting: "proxy_intercept_errors on; error_page 500 503 =503 @page; location @page { return 503 page; }", groups: "response",
				facts: map[string]string{"response.status": "replaced 500,503"}},
			{setting: "gzip on; gzip_types text/plain;", groups: "response",
				facts: map[string]string{"response.compression": "html: gzip, text: gzip"}},
		},
	}
}
