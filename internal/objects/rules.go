package objects

import (
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// Rule is a rule about fields of an Echo that a later version may loosen. Such rules are not in the schema, because OLM v1 rejects a schema
// with a rule that is looser than before.
type Rule struct {
	// Problem is a sentence without a period, and Advice is a sentence that says what to do.
	Problem, Advice string
	// Expression is the rule in CEL, for a ValidatingAdmissionPolicy. The operator evaluates holds instead, because a CEL library would add a
	// tenth to its size. A test compares them.
	Expression string

	holds func(given) bool
}

// given is the spec of an Echo, with zero values instead of parts that are not set.
type given struct {
	*v1.EchoSpec
	ingress    v1.EchoIngress
	ingressTLS v1.EchoIngressTLS
	gateway    v1.EchoGateway
	tls        v1.EchoTLS
	response   v1.EchoResponse
	from       []networkingv1.NetworkPolicyPeer
	// These report whether an Echo has HTTPS, an Ingress, routes, and a load balancer.
	hasTLS, hasIngress, hasGateway, hasLoadBalancer bool
}

func givenBy(echo *v1.Echo) given {
	s := &echo.Spec
	g := given{EchoSpec: s, ingress: orZero(s.Ingress), gateway: orZero(s.Gateway), tls: orZero(s.TLS), response: orZero(s.Response),
		from: orZero(s.NetworkPolicy).From, hasTLS: hasTLS(s), hasIngress: HasIngress(echo), hasGateway: HasGateway(echo),
		hasLoadBalancer: s.Service.Type == corev1.ServiceTypeLoadBalancer}
	g.ingressTLS = orZero(g.ingress.TLS)
	return g
}

func orZero[T any](part *T) T {
	if part == nil {
		return *new(T)
	}
	return *part
}

// checkRules returns an *InvalidSpecError if an Echo does not meet a rule.
func checkRules(echo *v1.Echo) error {
	g := givenBy(echo)
	for _, rule := range Rules() {
		if !rule.holds(g) {
			return &InvalidSpecError{Message: rule.Problem, Advice: rule.Advice}
		}
	}
	return nil
}

// Rules returns the rules that an Echo must meet.
func Rules() []Rule {
	return slices.Concat(enabledRules(), serviceRules(), exposureRules(), gatewayRules(), responseRules(), faultRules(), podRules())
}

// enabledRules returns the rules about objects that are created only on request. Without them, a part that was filled in could silently
// have no effect.
func enabledRules() []Rule {
	return []Rule{
		{"Fields of spec.ingress are set, but spec.ingress.enabled is not", "Set spec.ingress.enabled to true or false.",
			`!has(object.spec.ingress) || has(object.spec.ingress.enabled) ||
			!has(object.spec.ingress.tls) && object.spec.ingress.all(k, size(object.spec.ingress[k]) == 0)`,
			func(g given) bool {
				return g.ingress.Enabled != nil || g.ingress.TLS == nil && len(g.ingress.Annotations) == 0 &&
					g.ingress.Host+g.ingress.Path+string(g.ingress.PathType)+g.ingress.ClassName == ""
			}},
		{"The field spec.ingress.tls.secretName is set, but spec.ingress.tls.enabled is not", "Set spec.ingress.tls.enabled to true or false.",
			`object.spec.?ingress.?tls.?secretName.orValue('') == '' || has(object.spec.ingress.tls.enabled)`,
			func(g given) bool { return g.ingressTLS.SecretName == "" || g.ingressTLS.Enabled != nil }},
		{"Fields of spec.gateway are set, but spec.gateway.enabled is not", "Set spec.gateway.enabled to true or false.",
			`!has(object.spec.gateway) || has(object.spec.gateway.enabled) || !has(object.spec.gateway.grpc) &&
			!has(object.spec.gateway.backendTLS) && object.spec.gateway.all(k, size(object.spec.gateway[k]) == 0)`,
			func(g given) bool {
				return g.gateway.Enabled != nil || g.gateway.GRPC == nil && g.gateway.BackendTLS == nil && g.gateway.Path == "" &&
					len(g.gateway.ParentRefs)+len(g.gateway.Hostnames)+len(g.gateway.Annotations) == 0
			}},
		{"The field spec.networkPolicy.from is set, but spec.networkPolicy.enabled is not", "Set spec.networkPolicy.enabled to true or false.",
			`object.spec.?networkPolicy.?from.orValue([]).size() == 0 || has(object.spec.networkPolicy.enabled)`,
			func(g given) bool { return len(g.from) == 0 || g.NetworkPolicy.Enabled != nil }},
	}
}

func serviceRules() []Rule {
	return []Rule{
		{"The field spec.service.externalTrafficPolicy requires the type NodePort or LoadBalancer",
			"Set spec.service.type, or remove spec.service.externalTrafficPolicy.",
			`object.spec.service.?externalTrafficPolicy.orValue('') == '' || object.spec.service.type in ['NodePort', 'LoadBalancer']`,
			func(g given) bool {
				return g.Service.ExternalTrafficPolicy == "" || g.hasLoadBalancer || g.Service.Type == corev1.ServiceTypeNodePort
			}},
		{"The field spec.service.loadBalancerClass requires the type LoadBalancer",
			"Set spec.service.type, or remove spec.service.loadBalancerClass.",
			`object.spec.service.?loadBalancerClass.orValue('') == '' || object.spec.service.type == 'LoadBalancer'`,
			func(g given) bool { return g.Service.LoadBalancerClass == "" || g.hasLoadBalancer }},
		{"The field spec.service.loadBalancerSourceRanges requires the type LoadBalancer",
			"Set spec.service.type, or remove spec.service.loadBalancerSourceRanges.",
			`object.spec.service.?loadBalancerSourceRanges.orValue([]).size() == 0 || object.spec.service.type == 'LoadBalancer'`,
			func(g given) bool { return len(g.Service.LoadBalancerSourceRanges) == 0 || g.hasLoadBalancer }},
		{"The field spec.service.ipFamilies has two values, but the Service has one IP family",
			"Set spec.service.ipFamilyPolicy to PreferDualStack or RequireDualStack, or remove a value.",
			`object.spec.service.?ipFamilies.orValue([]).size() < 2 ||
			!(object.spec.service.?ipFamilyPolicy.orValue('') in ['', 'SingleStack'])`,
			func(g given) bool {
				policy := g.Service.IPFamilyPolicy
				return len(g.Service.IPFamilies) < 2 || policy != "" && policy != corev1.IPFamilyPolicySingleStack
			}},
		{"The field spec.service.portName is https, which is reserved for the HTTPS port", "Choose another name, such as http or web.",
			`object.spec.service.?portName.orValue('') != 'https'`,
			func(g given) bool { return g.Service.PortName != httpsPortName }},
		{"The field spec.service.httpsPort requires a certificate", "Set spec.tls.secretName, or remove spec.service.httpsPort.",
			`!has(object.spec.service.httpsPort) || object.spec.?tls.?secretName.orValue('') != ''`,
			func(g given) bool { return g.Service.HTTPSPort == 0 || g.hasTLS }},
		{"The fields spec.service.httpsPort (443 by default) and spec.service.port are the same port",
			"Set one of them to another port, because the Service has both.",
			`object.spec.?tls.?secretName.orValue('') == '' || object.spec.service.?httpsPort.orValue(443) != object.spec.service.port`,
			func(g given) bool { return !g.hasTLS || httpsServicePort(g.EchoSpec) != g.Service.Port }},
	}
}

// dotSegments matches a path that Kubernetes rejects in an Ingress or a route. Each pattern is the same in Go and in CEL.
const dotSegments = "//|/[.][.]?(/|$)|%2[fF]"

// exposureRules returns the rules about TLS and the Ingress.
func exposureRules() []Rule {
	return []Rule{
		{"The fields port and clientCertificate of spec.tls require a certificate", "Set spec.tls.secretName, or remove spec.tls.",
			`object.spec.?tls.?secretName.orValue('') != '' || !has(object.spec.tls) ||
			!has(object.spec.tls.port) && object.spec.tls.?clientCertificate.orValue('') in ['', 'None']`,
			func(g given) bool {
				return g.hasTLS || g.tls.Port == 0 && (g.tls.ClientCertificate == "" || g.tls.ClientCertificate == v1.ClientCertificateNone)
			}},
		{"The field spec.tls.clientCertificate is not None, Request, or Require", "Set it to one of these values, or remove it.",
			`object.spec.?tls.?clientCertificate.orValue('') in ['', 'None', 'Request', 'Require']`,
			func(g given) bool {
				return isOneOf(g.tls.ClientCertificate, v1.ClientCertificateNone, v1.ClientCertificateRequest, v1.ClientCertificateRequire)
			}},
		{"The fields spec.tls.port (8443 by default) and spec.port are the same port",
			"Set one of them to another port, because the containers listen on both.",
			`object.spec.?tls.?secretName.orValue('') == '' || object.spec.tls.?port.orValue(8443) != object.spec.port`,
			func(g given) bool { return !g.hasTLS || httpsPort(&g.tls) != g.Port }},
		{"The field spec.tls.port is the metrics port of the echo server",
			"Set spec.tls.port to another port: metrics use port 9090, or 9091 if spec.port is 9090.",
			`object.spec.?tls.?secretName.orValue('') == '' || object.spec.?image.orValue('') != '' ||
			object.spec.tls.?port.orValue(8443) != (object.spec.port == 9090 ? 9091 : 9090)`,
			func(g given) bool { return !g.hasTLS || g.Image != "" || httpsPort(&g.tls) != metricsPort(g.EchoSpec) }},
		{"The field spec.ingress.tls requires a host or a certificate", "Set spec.ingress.host or spec.ingress.tls.secretName.",
			`!object.spec.?ingress.?enabled.orValue(false) || !object.spec.ingress.?tls.?enabled.orValue(false) ||
			object.spec.ingress.tls.?secretName.orValue('') != '' || object.spec.ingress.?host.orValue('') != ''`,
			func(g given) bool {
				return !g.hasIngress || !isTrue(g.ingressTLS.Enabled) || g.ingressTLS.SecretName+g.ingress.Host != ""
			}},
		{"The field spec.ingress.path contains //, %2f, or a segment that is . or ..",
			"Change the path, or set spec.ingress.pathType to ImplementationSpecific.",
			`!object.spec.?ingress.?enabled.orValue(false) || object.spec.ingress.?pathType.orValue('') == 'ImplementationSpecific' ||
			!object.spec.ingress.?path.orValue('').matches('` + dotSegments + `')`,
			func(g given) bool {
				return !g.hasIngress || g.ingress.PathType == networkingv1.PathTypeImplementationSpecific || !matches(dotSegments, g.ingress.Path)
			}},
	}
}

// isOneOf reports whether a field that is set has one of some values.
func isOneOf[T ~string](field T, values ...T) bool {
	return field == "" || slices.Contains(values, field)
}

// matches reports whether a text that is not empty matches a pattern.
func matches(pattern, text string) bool {
	return text != "" && regexp.MustCompile(pattern).MatchString(text)
}

func gatewayRules() []Rule {
	// The Gateway API has the same pattern: sigs.k8s.io/gateway-api/apis/v1, HTTPRouteMatch.
	const routePath = "^/([-A-Za-z0-9/._~!$&\\x27()*+,;=:@]|%[0-9a-fA-F]{2})*$"
	const unless = "!object.spec.?gateway.?enabled.orValue(false) || "
	return []Rule{
		{"The field spec.gateway.parentRefs is empty", "List at least one Gateway, or set spec.gateway.enabled to false.",
			unless + `object.spec.gateway.?parentRefs.orValue([]).size() > 0`,
			func(g given) bool { return !g.hasGateway || len(g.gateway.ParentRefs) > 0 }},
		{"Two items of spec.gateway.parentRefs refer to the same Gateway", "Set a different sectionName in each, as the Gateway API requires.",
			unless + `object.spec.gateway.?parentRefs.orValue([]).all(a, object.spec.gateway.parentRefs.filter(b, a.name == b.name &&
			a.?namespace.orValue('') == b.?namespace.orValue('') && (a.?sectionName.orValue('') == '' ||
			b.?sectionName.orValue('') == '' || a.sectionName == b.sectionName)).size() == 1)`,
			func(g given) bool { return !g.hasGateway || !repeats(g.gateway.ParentRefs) }},
		{"The field spec.gateway.path contains //, %2f, a segment that is . or .., or a character that URLs must escape",
			"Change the path, as the Gateway API requires.",
			unless + `object.spec.gateway.?path.orValue('') == '' || object.spec.gateway.path.matches(r'` + routePath + `') &&
			!object.spec.gateway.path.matches('` + dotSegments + `')`,
			func(g given) bool {
				return !g.hasGateway || g.gateway.Path == "" || matches(routePath, g.gateway.Path) && !matches(dotSegments, g.gateway.Path)
			}},
		{"The field spec.gateway.backendTLS requires a certificate", "Set spec.tls.secretName, or remove spec.gateway.backendTLS.",
			unless + `!has(object.spec.gateway.backendTLS) || object.spec.?tls.?secretName.orValue('') != ''`,
			func(g given) bool { return !g.hasGateway || g.gateway.BackendTLS == nil || g.hasTLS }},
		{"The field spec.gateway.grpc requires spec.gateway.hostnames",
			"Set spec.gateway.hostnames. Otherwise, the HTTPRoute would also match the host names of the GRPCRoute.",
			unless + `!has(object.spec.gateway.grpc) || object.spec.gateway.?hostnames.orValue([]).size() > 0`,
			func(g given) bool { return !g.hasGateway || g.gateway.GRPC == nil || len(g.gateway.Hostnames) > 0 }},
		{"A host name in spec.gateway.grpc.hostnames overlaps one in spec.gateway.hostnames",
			"Change one of them: a listener accepts a host name from only one kind of route.",
			unless + `object.spec.gateway.?grpc.?hostnames.orValue([]).all(a, object.spec.gateway.?hostnames.orValue([]).all(b, a != b &&
			!(a.startsWith('*.') && b.endsWith(a.substring(1))) && !(b.startsWith('*.') && a.endsWith(b.substring(1)))))`,
			func(g given) bool {
				return !g.hasGateway || !slices.ContainsFunc(orZero(g.gateway.GRPC).Hostnames, func(grpc string) bool {
					return slices.ContainsFunc(g.gateway.Hostnames, func(http string) bool { return covers(http, grpc) || covers(grpc, http) })
				})
			}},
	}
}

// repeats reports whether two references to Gateways attach a route to the same listener.
func repeats(references []v1.EchoGatewayReference) bool {
	for i, a := range references {
		for _, b := range references[:i] {
			if a.Name == b.Name && a.Namespace == b.Namespace && (a.SectionName == "" || b.SectionName == "" || a.SectionName == b.SectionName) {
				return true
			}
		}
	}
	return false
}

// covers reports whether a pattern, such as *.example.com, matches every name that another host name matches.
func covers(pattern, name string) bool {
	domain, wildcard := strings.CutPrefix(pattern, "*.")
	return pattern == name || wildcard && strings.HasSuffix(name, "."+domain)
}

func responseRules() []Rule {
	// The server sets these headers, because they belong to the connection. A browser does not execute these media types.
	const managed = "^(connection|content-length|keep-alive|proxy-(authenticate|authorization|connection)|te|trailer|transfer-encoding|upgrade)$"
	const inert = "^(application/json|application/problem[+]json|application/octet-stream|text/csv|text/plain)( *; *charset=[-0-9A-Za-z]+)?$"
	const headers = "object.spec.?response.?headers.orValue([])"
	every := func(g given, holds func(v1.EchoHeader) bool) bool {
		return !slices.ContainsFunc(g.response.Headers, func(h v1.EchoHeader) bool { return !holds(h) })
	}
	return []Rule{
		{"The field spec.response.headers has a header that the server manages, such as Connection or Content-Length", "Remove the header.",
			headers + `.all(h, !h.name.lowerAscii().matches('` + managed + `'))`,
			func(g given) bool {
				return every(g, func(h v1.EchoHeader) bool { return !matches(managed, strings.ToLower(h.Name)) })
			}},
		{"The Content-Type in spec.response.headers requires spec.response.body, because the response contains data that clients send",
			"Set a body, or use application/json, application/problem+json, application/octet-stream, text/csv, or text/plain.",
			`object.spec.?response.?body.orValue('') != '' ||
			` + headers + `.all(h, h.name.lowerAscii() != 'content-type' || h.?value.orValue('').matches('` + inert + `'))`,
			func(g given) bool {
				return g.response.Body != "" || every(g, func(h v1.EchoHeader) bool {
					return !strings.EqualFold(h.Name, "content-type") || matches(inert, h.Value)
				})
			}},
		{"The names and values in spec.response.headers have more than 60000 bytes", "Shorten them.",
			headers + `.map(h, size(bytes(h.name)) + size(bytes(h.?value.orValue('')))).sum() <= 60000`,
			func(g given) bool {
				total := 0
				for _, h := range g.response.Headers {
					total += len(h.Name) + len(h.Value)
				}
				return total <= 60000
			}},
		{"The field spec.response.body has more than 131000 bytes", "Shorten the body.",
			`size(bytes(object.spec.?response.?body.orValue(''))) <= 131000`,
			func(g given) bool { return len(g.response.Body) <= 131000 }},
		{"The field spec.server.controls is not Safe, Full, or None", "Set it to one of these values, or remove it.",
			`object.spec.?server.?controls.orValue('') in ['', 'Safe', 'Full', 'None']`,
			func(g given) bool {
				return isOneOf(g.Server.Controls, v1.ControlsSafe, v1.ControlsFull, v1.ControlsNone)
			}},
	}
}

func faultRules() []Rule {
	rule := func(problem, advice, expression string, holds func(v1.EchoFault) bool) Rule {
		return Rule{problem, advice, "object.spec.?response.?faults.orValue([]).all(f, " + expression + ")", func(g given) bool {
			return !slices.ContainsFunc(g.response.Faults, func(f v1.EchoFault) bool { return !holds(f) })
		}}
	}
	return []Rule{
		rule("A fault in spec.response.faults has no effect", "Set statusCode, delayMilliseconds, maxDelayMilliseconds, or connection.",
			`f.?statusCode.orValue(0) + f.?delayMilliseconds.orValue(0) + f.?maxDelayMilliseconds.orValue(0) > 0 ||
			f.?connection.orValue('') != ''`,
			func(f v1.EchoFault) bool {
				return f.StatusCode+f.DelayMilliseconds+f.MaxDelayMilliseconds > 0 || f.Connection != ""
			}),
		rule("A fault in spec.response.faults has a maxDelayMilliseconds below its delayMilliseconds", "Raise or remove it.",
			`f.?maxDelayMilliseconds.orValue(0) == 0 || f.maxDelayMilliseconds >= f.?delayMilliseconds.orValue(0)`,
			func(f v1.EchoFault) bool {
				return f.MaxDelayMilliseconds == 0 || f.MaxDelayMilliseconds >= f.DelayMilliseconds
			}),
		rule("A fault in spec.response.faults has a connection that is not Reset or Truncate", "Set one of these values, or remove it.",
			`f.?connection.orValue('') in ['', 'Reset', 'Truncate']`,
			func(f v1.EchoFault) bool { return isOneOf(f.Connection, v1.ConnectionReset, v1.ConnectionTruncate) }),
		rule("A fault in spec.response.faults has both a statusCode and the connection Reset, which sends no response", "Remove one of them.",
			`!has(f.statusCode) || f.?connection.orValue('') != 'Reset'`,
			func(f v1.EchoFault) bool { return f.StatusCode == 0 || f.Connection != v1.ConnectionReset }),
	}
}

// podRules returns the rules of Kubernetes about items of lists whose types a new version of Kubernetes may extend.
func podRules() []Rule {
	return []Rule{
		{"An item of spec.tolerations has neither a key nor the operator Exists", "Set one of them. Exists without a key tolerates all taints.",
			`object.spec.?tolerations.orValue([]).all(t, t.?key.orValue('') != '' || t.?operator.orValue('') == 'Exists')`,
			func(g given) bool {
				return !slices.ContainsFunc(g.Tolerations, func(t corev1.Toleration) bool {
					return t.Key == "" && t.Operator != corev1.TolerationOpExists
				})
			}},
		{"An item of spec.tolerations has tolerationSeconds without the effect NoExecute", "Set the effect, or remove tolerationSeconds.",
			`object.spec.?tolerations.orValue([]).all(t, !has(t.tolerationSeconds) || t.?effect.orValue('') == 'NoExecute')`,
			func(g given) bool {
				return !slices.ContainsFunc(g.Tolerations, func(t corev1.Toleration) bool {
					return t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute
				})
			}},
		{"An item of spec.networkPolicy.from has both an ipBlock and a selector, or neither",
			"Set either ipBlock, or podSelector, namespaceSelector, or both. An empty podSelector {} selects all pods.",
			`object.spec.?networkPolicy.?from.orValue([]).all(p, has(p.ipBlock) != (has(p.podSelector) || has(p.namespaceSelector)))`,
			func(g given) bool {
				return !slices.ContainsFunc(g.from, func(p networkingv1.NetworkPolicyPeer) bool {
					return (p.IPBlock != nil) == (p.PodSelector != nil || p.NamespaceSelector != nil)
				})
			}},
	}
}
