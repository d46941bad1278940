package gateways

func apache() gateway {
	const docs = "https://httpd.apache.org/docs/2.4/mod/"
	const pass = "ProxyPass / http://ECHO/"
	return gateway{
		name: "Apache httpd", version: []string{"apache2", "-v"}, run: []string{"apache2", "-DFOREGROUND", "-f", "CONFIG"},
		config: func(setting string) string {
			if setting == "" {
				setting = pass
			}
			return `ServerRoot DIR
ServerName localhost
PidFile DIR/pid
Mutex pthread
ErrorLog DIR/error
User www-data
Group www-data
Listen LISTEN
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
` + setting + "\n"
		},
		facts: []promise{
			{"request.path.encodedSlash", "refused 404", docs + "core.html#allowencodedslashes"},
			{"request.host", "changed", docs + "mod_proxy.html#proxypreservehost"},
			{"client.address", "kept", docs + "mod_proxy.html#proxyaddheaders"},
			{"client.address.by", "X-Forwarded-For", docs + "mod_proxy.html#x-headers"},
			{"client.spoofable[X-Forwarded-For]", "in front", docs + "mod_proxy.html#x-headers"},
			{"websocket.upgrade", "no", docs + "mod_proxy.html#protoupgrade"},
			{"request.headers.size", "4Ki", docs + "core.html#limitrequestfieldsize"},
			{"request.path.doubleSlash", "merged", docs + "core.html#mergeslashes"},
			{"response.status", "kept", docs + "mod_proxy.html#proxyerroroverride"},
			{"body.max", "2Mi", docs + "core.html#limitrequestbody"},
		},
		turns: []turn{
			{setting: "AllowEncodedSlashes NoDecode\n" + pass + " nocanon", groups: "request",
				facts: map[string]string{"request.path.encodedSlash": "kept"}},
			{setting: "ProxyPreserveHost On\n" + pass, groups: "request", facts: map[string]string{"request.host": "kept"}},
			{setting: "ProxyAddHeaders Off\n" + pass, groups: "client",
				facts: map[string]string{"client.address": "lost", "client.spoofable[X-Forwarded-For]": "yes"}},
			{setting: "RequestHeader unset X-Forwarded-For early\n" + pass, groups: "client",
				facts: map[string]string{"client.address": "kept", "client.spoofable[X-Forwarded-For]": "not found"}},
			{setting: pass + " upgrade=websocket", groups: "websocket", facts: map[string]string{"websocket.upgrade": "yes"}},
			{setting: "LimitRequestFieldSize 16380\n" + pass, groups: "request", facts: map[string]string{"request.headers.size": "12Ki"}},
			{setting: "ProxyErrorOverride On 500 503\n" + pass, groups: "response", facts: map[string]string{"response.status": "replaced 500,503"}},
		},
	}
}
