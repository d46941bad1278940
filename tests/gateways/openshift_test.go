package gateways

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// openshift returns HAProxy with the configuration that OpenShift's router generates for an edge-terminated route that also admits HTTP
// (insecureEdgeTerminationPolicy: Allow), with the defaults of the ingress operator. It follows the frontends "public", "public_ssl", and
// "fe_no_sni", and the backend "be_edge_http", in
// https://github.com/openshift/router/blob/4b401a86dccc657a8a5254c2794a312241f40e87/images/router/haproxy/conf/haproxy-config.template,
// without logs, statistics, maps, error pages, and rules for IPv6, which change nothing here, and without no-alpn, which HAProxy 2.6
// neither knows nor needs.
// Settings are annotations of the route.
func openshift() gateway {
	const docs = "https://github.com/openshift/openshift-docs/blob/enterprise-4.21/modules/"
	const annotations, forwarded = docs + "nw-route-specific-annotations.adoc", docs + "nw-using-ingress-forwarded.adoc"
	const annotation = "haproxy.router.openshift.io/"
	return gateway{
		name: "OpenShift router (HAProxy)", version: []string{"haproxy", "-v"}, run: []string{"haproxy", "-db", "-f", "CONFIG"},
		config: openshiftFile, prepare: writeCertificate,
		facts: []promise{
			{"client.address", "kept", forwarded},
			{"client.address.by", "X-Forwarded-For", forwarded},
			{"client.spoofable[X-Forwarded-For]", "in front", forwarded},
			{"client.spoofable[Forwarded]", "in front", forwarded},
			{"client.spoofable[X-Forwarded-Proto]", "in front", forwarded},
			{"client.proto", "reported", forwarded},
			{"loadBalancing.pods", "2", annotations},
			{"loadBalancing.affinity", "cookie", annotations},
			{"request.headers.size", "16Ki", docs + "nw-ingress-controller-configuration-parameters.adoc"},
			{"response.compression", "none", docs + "nw-configuring-router-compression.adoc"},
			{"request.path.dots", "kept", annotations},
		},
		turns: []turn{
			{setting: annotation + "set-forwarded-headers: replace", groups: "client",
				facts: map[string]string{"client.address": "kept", "client.spoofable[X-Forwarded-For]": "not found",
					"client.spoofable[Forwarded]": "not found", "client.spoofable[X-Forwarded-Proto]": "not found"}},
			{setting: annotation + "set-forwarded-headers: never", groups: "client",
				facts: map[string]string{"client.address": "lost", "client.spoofable[X-Forwarded-For]": "yes"}},
			{setting: annotation + `disable_cookies: "true"`, groups: "loadBalancing",
				facts: map[string]string{"loadBalancing.affinity": "none"}},
		},
	}
}

// openshiftFile returns the configuration for a route to two pods, with an annotation.
func openshiftFile(annotation string) string {
	const pod = " weight 256 check inter 5000ms\n"
	cookie := " cookie 3f2504e04f8941d39a0c0305e82c3301 insert indirect nocache httponly\n"
	servers := " server pod:web-1 ECHO cookie 6f1ed002ab559585" + pod + " server pod:web-2 OTHER cookie 8277e0910d750195" + pod
	forward, action := " option forwardfor\n", "add"
	switch name, value, _ := strings.Cut(annotation, ": "); {
	case strings.HasSuffix(name, "/disable_cookies"):
		cookie = ""
	case value == "replace":
		forward, action = " http-request set-header X-Forwarded-For %[src]\n", "set"
	case value == "never":
		forward, action = "", ""
	}
	for _, rule := range []string{"X-Forwarded-Host %[req.hdr(host)]", "X-Forwarded-Port %[dst_port]", "X-Forwarded-Proto http if !{ ssl_fc }",
		"X-Forwarded-Proto https if { ssl_fc }", "Forwarded for=%[src];host=%[req.hdr(host)];proto=%[req.hdr(X-Forwarded-Proto)]"} {
		if action != "" {
			forward += " http-request " + action + "-header " + rule + "\n"
		}
	}
	filter := " http-request deny if { hdr_len(content-length) 0 }\n http-request del-header Proxy\n"
	for _, suffix := range []string{"", "-Client-CN", "-Client-DER", "-Client-DN", "-Client-NotAfter", "-Client-NotBefore", "-Client-SHA1",
		"-Client-Serial", "-Client-Subject", "-Client-Verify", "-Client-Version", "-Issuer"} {
		filter += " http-request del-header X-SSL" + suffix + "\n"
	}
	filter += " http-request set-header Host %[req.hdr(Host),lower]\n" +
		" use_backend be_edge_http:shop:web if { base -m reg ^HOST\\.?(:[0-9]+)?(/.*)?$ }\n"
	return `global
 no strict-limits
 maxconn 50000
 nbthread 4
 tune.maxrewrite 8192
 tune.bufsize 32768
 ssl-default-bind-options ssl-min-ver TLSv1.2
 tune.ssl.default-dh-param 2048
defaults
 maxconn 50000
 timeout connect 5s
 timeout client 30s
 timeout client-fin 1s
 timeout server 30s
 timeout server-fin 1s
 timeout http-request 10s
 timeout http-keep-alive 300s
 timeout tunnel 1h
frontend public
 bind LISTEN
 mode http
 tcp-request inspect-delay 5s
 tcp-request content accept if HTTP
` + filter + `frontend public_ssl
 bind HOST:8443
 mode tcp
 tcp-request inspect-delay 5s
 tcp-request content accept if { req_ssl_hello_type 1 }
 default_backend be_no_sni
backend be_no_sni
 mode tcp
 server fe_no_sni unix@DIR/no-sni.sock weight 1 send-proxy
frontend fe_no_sni
 bind unix@DIR/no-sni.sock ssl crt DIR/tls.pem accept-proxy
 mode http
` + filter + `backend be_edge_http:shop:web
 mode http
 option redispatch
 balance random
 timeout check 5000ms
` + forward + cookie + servers
}

// writeCertificate writes a certificate and its key to tls.pem, in a directory.
func writeCertificate(t *testing.T, folder string) {
	t.Helper()
	issued := echotest.NewAuthority(t, "router").Issue(t, "web.example.com")
	if err := os.WriteFile(filepath.Join(folder, "tls.pem"), []byte(issued.Certificate+issued.Key), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOpenShift_edge examines the same route over HTTPS, with the same facts except the ones that depend on the scheme.
func TestOpenShift_edge(t *testing.T) {
	if os.Getenv("GATEWAYS") != "all" {
		t.Skip("make test-gateways runs this test")
	}
	t.Parallel()
	g := openshift()
	plain := g.start(t, "")
	host, _, _ := net.SplitHostPort(strings.TrimPrefix(plain, "http://"))
	url := "https://" + host + ":8443"
	report, insecure := check(t, url, "", ""), check(t, plain, "", "")
	want := map[string]string{"client.proto": "reported", "client.port": "reported", "tls.alpn": "none", "tls.minVersion": "TLS 1.2",
		"tls.termination": "proxy", "websocket.proto": "https"}
	for _, name := range shown() {
		want[name] = valueOf(insecure, name)
	}
	want["request.http2"] = "no"
	for name, value := range want {
		if got := valueOf(report, name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}
