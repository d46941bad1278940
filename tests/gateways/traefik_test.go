package gateways

import (
	"os"
	"strings"
)

// traefik returns Traefik with the file provider. Settings that begin with -- are command-line arguments of Traefik. Other settings are
// middlewares or parts of the service.
func traefik() gateway {
	const docs = "https://doc.traefik.io/traefik/v3.6/reference/"
	return gateway{
		// This build of Traefik cannot print its own version.
		name: "Traefik", version: []string{"go", "-C", "../../tools/traefik", "list", "-m", "github.com/traefik/traefik/v3"},
		run: []string{os.Getenv("TRAEFIK"), "--entryPoints.web.address=LISTEN", "--providers.file.filename=CONFIG",
			"--global.checkNewVersion=false", "--global.sendAnonymousUsage=false"},
		arguments: func(setting string) []string {
			if strings.HasPrefix(setting, "--") {
				return strings.Fields(setting)
			}
			return nil
		},
		config: traefikFile,
		facts: []promise{
			{"client.spoofable[X-Forwarded-For]", "not found", docs + "install-configuration/entrypoints/#opt-forwardedHeaders-trustedIPs"},
			{"client.spoofable[X-Forwarded-Host]", "not found", docs + "install-configuration/entrypoints/#opt-forwardedHeaders-trustedIPs"},
			{"client.spoofable[X-Forwarded-Proto]", "not found", docs + "install-configuration/entrypoints/#opt-forwardedHeaders-trustedIPs"},
			{"client.address", "kept", docs + "routing-configuration/http/load-balancing/service/"},
			{"client.address.by", "X-Forwarded-For", docs + "routing-configuration/http/load-balancing/service/"},
			{"request.host", "kept", docs + "routing-configuration/http/load-balancing/service/#opt-passHostHeader"},
			{"response.stream", "streamed", docs + "routing-configuration/http/load-balancing/service/#opt-responseForwarding-FlushInterval"},
			{"response.compression", "none", docs + "routing-configuration/http/middlewares/compress/"},
			{"body.max", "2Mi", docs + "routing-configuration/http/middlewares/buffering/"},
			{"retries.get", "0", docs + "routing-configuration/http/middlewares/retry/"},
			{"websocket.upgrade", "yes", "https://doc.traefik.io/traefik/v3.6/expose/overview/"},
			{"websocket.proto", "ws", "https://github.com/traefik/traefik/issues/6388"},
			{"request.headers.size.by", "Echo", docs + "install-configuration/configuration-options/#opt-entrypoints-name-http-maxheaderbytes"},
		},
		turns: []turn{
			{setting: "--entryPoints.web.forwardedHeaders.insecure", groups: "client",
				facts: map[string]string{"client.spoofable[X-Forwarded-For]": "in front", "client.spoofable[X-Forwarded-Host]": "yes"}},
			{setting: "--entryPoints.web.http.sanitizePath=false", groups: "request",
				facts: map[string]string{"request.path.dots": "kept", "request.path.doubleSlash": "kept"}},
			{setting: "--entryPoints.web.http.maxHeaderBytes=16384", groups: "request",
				facts: map[string]string{"request.headers.size": "16Ki", "request.headers.size.by": "proxy"}},
			{setting: "buffering: {maxRequestBodyBytes: 1048576}", groups: "body",
				facts: map[string]string{"body.max": "1Mi", "body.request": "buffered"}},
			{setting: "compress: {includedContentTypes: [text/plain], minResponseBodyBytes: 1}", groups: "response",
				facts: map[string]string{"response.compression": "text: gzip"}},
			{setting: "headers: {customRequestHeaders: {X-Request-Id: gateway}}", groups: "client",
				facts: map[string]string{"client.requestID": "replaced, else generated"}},
			{setting: "passHostHeader: false", groups: "request", facts: map[string]string{"request.host": "changed"}},
			{setting: "servers: [{url: \"h2c://ECHO\"}]", groups: "request,grpc",
				facts: map[string]string{"request.version": "HTTP/2.0", "grpc.unary": "yes", "grpc.stream": "streamed"}},
		},
	}
}

// traefikFile returns the configuration for the file provider.
func traefikFile(setting string) string {
	servers, service, router, middlewares := `servers: [{url: "http://ECHO"}]`, "", "", ""
	switch {
	case strings.HasPrefix(setting, "servers"):
		servers = setting
	case strings.HasPrefix(setting, "passHostHeader"):
		service = ", " + setting
	case setting != "" && !strings.HasPrefix(setting, "--"):
		router, middlewares = ", middlewares: [set]", "  middlewares: {set: {"+setting+"}}\n"
	}
	return "http:\n  routers: {all: {rule: 'PathPrefix(`/`)', service: echo" + router + "}}\n" +
		"  services: {echo: {loadBalancer: {" + servers + service + "}}}\n" + middlewares
}
