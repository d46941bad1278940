package gateways

import (
	"os"
	"strings"
)

// envoySettings are settings of Envoy that another program chooses. Each is a list of fields in JSON that begins with a comma.
type envoySettings struct{ listener, manager, router, host, route, cluster string }

// envoys returns Envoy with its defaults, and with the settings that Envoy Gateway and Istio choose for a gateway.
func envoys() []gateway {
	const docs = "https://www.envoyproxy.io/docs/envoy/v1.40.0/"
	const headers = docs + "configuration/http/http_conn_man/headers"
	const manager = docs + "api-v3/extensions/filters/network/http_connection_manager/v3/"
	common := []promise{
		{"request.version", "HTTP/1.1", docs + "intro/arch_overview/upstream/connection_pooling"},
		{"request.host", "kept", headers + "#host"},
		{"request.headers.case", "lower", docs + "configuration/http/http_conn_man/header_casing"},
		{"request.trailers", "dropped", docs + "api-v3/config/core/v3/protocol.proto#http1protocoloptions"},
		{"body.expect", "sent by proxy", headers},
		{"body.max", "2Mi", docs + "configuration/http/http_filters/buffer_filter"},
		{"body.request", "streamed", docs + "configuration/http/http_filters/buffer_filter"},
		{"response.stream", "streamed", docs + "configuration/http/http_filters/buffer_filter"},
		{"response.compression", "none", docs + "configuration/http/http_filters/compressor_filter"},
		{"response.status", "kept", docs + "configuration/http/http_conn_man/local_reply"},
		{"client.spoofable[Forwarded]", "yes", headers},
	}
	edge := append([]promise{
		{"client.spoofable[X-Forwarded-For]", "in front", headers + "#x-forwarded-for"},
		{"client.spoofable[X-Forwarded-Proto]", "not found", headers + "#x-forwarded-proto"},
		{"client.requestID", "replaced, else generated", headers + "#x-request-id"},
		{"request.path.dots", "resolved", manager + "http_connection_manager.proto"},
		{"websocket.upgrade", "yes", docs + "intro/arch_overview/http/upgrades"},
	}, common...)
	const upgrades = `, "use_remote_address": true, "normalize_path": true, "upgrade_configs": [{"upgrade_type": "websocket"}]`
	return []gateway{
		envoy("Envoy", &envoySettings{}, append([]promise{
			{"client.spoofable[X-Forwarded-For]", "yes", headers + "#x-forwarded-for"},
			{"client.spoofable[X-Forwarded-Proto]", "yes", headers + "#x-forwarded-proto"},
			{"client.requestID", "kept, else generated", headers + "#x-request-id"},
			{"request.path.dots", "kept", manager + "http_connection_manager.proto"},
			{"websocket.upgrade", "refused 403", docs + "intro/arch_overview/http/upgrades"},
			{"retries.get", "0", docs + "configuration/http/http_filters/router_filter"},
		}, common...)),
		envoy("Envoy Gateway's Envoy", &envoySettings{
			listener: `, "per_connection_buffer_limit_bytes": 32768`,
			// 3 is UNESCAPE_AND_REDIRECT, whose name contains a placeholder.
			manager: upgrades + `, "merge_slashes": true, "path_with_escaped_slashes_action": 3, "server_header_transformation": "PASS_THROUGH",
 "common_http_protocol_options": {"headers_with_underscores_action": "REJECT_REQUEST"},
 "scheme_header_transformation": {"match_upstream": true},
 "http2_protocol_options": {"initial_stream_window_size": 65536, "initial_connection_window_size": 1048576, "max_concurrent_streams": 100}`,
			router:  `, "suppress_envoy_headers": true`,
			cluster: `, "outlier_detection": {}`,
		}, append([]promise{
			{"request.path.encodedSlash", "refused 307", manager + "http_connection_manager.proto"},
			{"request.path.doubleSlash", "merged", manager + "http_connection_manager.proto"},
			{"request.headers.underscores", "refused 400", docs + "api-v3/config/core/v3/protocol.proto"},
			{"retries.get", "0", docs + "configuration/http/http_filters/router_filter"},
		}, edge...)),
		envoy("Istio's Envoy", &envoySettings{
			manager: upgrades + `, "server_name": "istio-envoy", "forward_client_cert_details": "SANITIZE_SET", "stream_idle_timeout": "0s"`,
			host:    `, "include_request_attempt_count": true`,
			route: `, "timeout": "0s", "retry_policy": {"retry_on": "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes",
 "retriable_status_codes": [503], "num_retries": 2, "host_selection_retry_max_attempts": 5, "retry_host_predicate": [{"name": "previous",
 "typed_config": {"@type": "type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"}}]}`,
		}, append([]promise{
			{"request.path.encodedSlash", "kept", manager + "http_connection_manager.proto"},
			{"request.path.doubleSlash", "kept", manager + "http_connection_manager.proto"},
			{"retries.get", "2", docs + "configuration/http/http_filters/router_filter"},
		}, edge...)),
	}
}

// envoy returns Envoy with settings. JSON is valid YAML.
func envoy(name string, s *envoySettings, facts []promise) gateway {
	const typed = `"@type": "type.googleapis.com/envoy.extensions.filters.`
	file := `{"static_resources": {
"listeners": [{"address": {"socket_address": {"address": "HOST", "port_value": PORT}}` + s.listener + `,
"filter_chains": [{"filters": [{"name": "http",
"typed_config": {` + typed + `network.http_connection_manager.v3.HttpConnectionManager",
"stat_prefix": "http"` + s.manager + `,
"http_filters": [{"name": "router", "typed_config": {` + typed + `http.router.v3.Router"` + s.router + `}}],
"route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"]` + s.host + `,
"routes": [{"match": {"prefix": "/"}, "route": {"cluster": "echo"` + s.route + `}}]}]}}}]}]}],
"clusters": [{"name": "echo"` + s.cluster + `, "load_assignment": {"cluster_name": "echo",
"endpoints": [{"lb_endpoints": [{"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": ECHO_PORT}}}}]}]}}]}}`
	program := os.Getenv("ENVOY")
	return gateway{name: name, version: []string{program, "--version"}, facts: facts,
		config: func(string) string { return file },
		run:    strings.Fields(program + " -c CONFIG --use-dynamic-base-id --concurrency 1 -l error")}
}
