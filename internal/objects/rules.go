package objects

import (
	"cmp"
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

	holds func(*v1.EchoSpec) bool
}

// checkRules returns an *InvalidSpecError if an Echo does not meet a rule.
func checkRules(echo *v1.Echo) error {
	spec := echo.Spec // a copy, in which empty parts replace the parts that are not set
	spec.TLS = cmp.Or(spec.TLS, &v1.EchoTLS{})
	spec.Ingress = cmp.Or(spec.Ingress, &v1.EchoIngress{})
	spec.Gateway = cmp.Or(spec.Gateway, &v1.EchoGateway{})
	spec.Response = cmp.Or(spec.Response, &v1.EchoResponse{})
	spec.NetworkPolicy = cmp.Or(spec.NetworkPolicy, &v1.EchoNetworkPolicy{})
	for _, rule := range Rules() {
		if !rule.holds(&spec) {
			return &InvalidSpecError{Message: rule.Problem, Advice: rule.Advice}
		}
	}
	return nil
}

// Rules returns the rules that an Echo must meet.
func Rules() []Rule {
	return slices.Concat(enabledRules(), serviceRules(), exposureRules(), gatewayRules(), responseRules(), faultRules(), podRules())
}

// enabledRules returns the rules about objects that are created only on request. Without them, a field could silently have no effect.
func enabledRules() []Rule {
	return []Rule{
		{"Fields of spec.ingress are set, but spec.ingress.enabled is not", "Set spec.ingress.enabled to true or false.",
			`!has(object.spec.ingress) || has(object.spec.ingress.enabled) ||
			!has(object.spec.ingress.tls) && object.spec.ingress.all(k, size(object.spec.ingress[k]) == 0)`,
			func(s *v1.EchoSpec) bool {
				return s.Ingress.Enabled != nil || s.Ingress.TLS == nil && len(s.Ingress.Annotations) == 0 &&
					s.Ingress.Host+s.Ingress.Path+string(s.Ingress.PathType)+s.Ingress.ClassName == ""
			}},
		{"The field spec.ingress.tls.secretName is set, but spec.ingress.tls.enabled is not", "Set spec.ingress.tls.enabled to true or false.",
			`object.spec.?ingress.?tls.?secretName.orValue('') == '' || has(object.spec.ingress.tls.enabled)`,
			func(s *v1.EchoSpec) bool {
				return s.Ingress.TLS == nil || s.Ingress.TLS.SecretName == "" || s.Ingress.TLS.Enabled != nil
			}},
		{"Fields of spec.gateway are set, but spec.gateway.enabled is not", "Set spec.gateway.enabled to true or false.",
			`!has(object.spec.gateway) || has(object.spec.gateway.enabled) || !has(object.spec.gateway.grpc) &&
			!has(object.spec.gateway.backendTLS) && object.spec.gateway.all(k, size(object.spec.gateway[k]) == 0)`,
			func(s *v1.EchoSpec) bool {
				return s.Gateway.Enabled != nil || s.Gateway.GRPC == nil && s.Gateway.BackendTLS == nil && s.Gateway.Path == "" &&
					len(s.Gateway.ParentRefs)+len(s.Gateway.Hostnames)+len(s.Gateway.Annotations) == 0
			}},
		{"The field spec.networkPolicy.from is set, but spec.networkPolicy.enabled is not", "Set spec.networkPolicy.enabled to true or false.",
			`object.spec.?networkPolicy.?from.orValue([]).size() == 0 || has(object.spec.networkPolicy.enabled)`,
			func(s *v1.EchoSpec) bool { return len(s.NetworkPolicy.From) == 0 || s.NetworkPolicy.Enabled != nil }},
	}
}

func serviceRules() []Rule {
	const loadBalancer, nodePort = corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort
	return []Rule{
		{"The field spec.service.externalTrafficPolicy requires the type NodePort or LoadBalancer",
			"Set spec.service.type, or remove spec.service.externalTrafficPolicy.",
			`object.spec.service.?externalTrafficPolicy.orValue('') == '' || object.spec.service.type in ['NodePort', 'LoadBalancer']`,
			func(s *v1.EchoSpec) bool {
				return s.Service.ExternalTrafficPolicy == "" || s.Service.Type == nodePort || s.Service.Type == loadBalancer
			}},
		{"The field spec.service.loadBalancerClass requires the type LoadBalancer",
			"Set spec.service.type, or remove spec.service.loadBalancerClass.",
			`object.spec.service.?loadBalancerClass.orValue('') == '' || object.spec.service.type == 'LoadBalancer'`,
			func(s *v1.EchoSpec) bool { return s.Service.LoadBalancerClass == "" || s.Service.Type == loadBalancer }},
		{"The field spec.service.loadBalancerSourceRanges requires the type LoadBalancer",
			"Set spec.service.type, or remove spec.service.loadBalancerSourceRanges.",
			`object.spec.service.?loadBalancerSourceRanges.orValue([]).size() == 0 || object.spec.service.type == 'LoadBalancer'`,
			func(s *v1.EchoSpec) bool {
				return len(s.Service.LoadBalancerSourceRanges) == 0 || s.Service.Type == loadBalancer
			}},
		{"The field spec.service.ipFamilies has two values, but the Service has one IP family",
			"Set spec.service.ipFamilyPolicy to PreferDualStack or RequireDualStack, or remove a value.",
			`object.spec.service.?ipFamilies.orValue([]).size() < 2 ||
			!(object.spec.service.?ipFamilyPolicy.orValue('') in ['', 'SingleStack'])`,
			func(s *v1.EchoSpec) bool {
				return len(s.Service.IPFamilies) < 2 || !isOneOf(s.Service.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack)
			}},
		{"The field spec.service.portName is https, which is reserved for the HTTPS port", "Choose another name, such as http or web.",
			`object.spec.service.?portName.orValue('') != 'https'`,
			func(s *v1.EchoSpec) bool { return s.Service.PortName != httpsPortName }},
		{"The field spec.service.httpsPort requires a certificate", "Set spec.tls.secretName, or remove spec.service.httpsPort.",
			`!has(object.spec.service.httpsPort) || object.spec.?tls.?secretName.orValue('') != ''`,
			func(s *v1.EchoSpec) bool { return s.Service.HTTPSPort == 0 || hasTLS(s) }},
		{"The fields spec.service.httpsPort (443 by default) and spec.service.port are the same port",
			"Set one of them to another port, because the Service has both.",
			`object.spec.?tls.?secretName.orValue('') == '' || object.spec.service.?httpsPort.orValue(443) != object.spec.service.port`,
			func(s *v1.EchoSpec) bool { return !hasTLS(s) || httpsServicePort(s) != s.Service.Port }},
	}
}

// Each of these patterns is the same in Go and in CEL.
var (
	// dotSegments matches a path that Kubernetes rejects in an Ingress or a route.
	dotSegments = regexp.MustCompile("//|/[.][.]?(/|$)|%2[fF]")
	// routePath matches a path that the Gateway API accepts: sigs.k8s.io/gateway-api/apis/v1, HTTPRouteMatch.
	routePath = regexp.MustCompile(`^/([-A-Za-z0-9/._~!$&\x27()*+,;=:@]|%[0-9a-fA-F]{2})*$`)
	// managed matches the names of headers that the server sets, because they belong to the connection.
	managed = regexp.MustCompile(
		"^(connection|content-length|keep-alive|proxy-(authenticate|authorization|connection)|te|trailer|transfer-encoding|upgrade)$")
	// inert matches media types that a browser does not execute.
	inert = regexp.MustCompile(
		"^(application/json|application/problem[+]json|application/octet-stream|text/csv|text/plain)( *; *charset=[-0-9A-Za-z]+)?$")
)

// exposureRules returns the rules about TLS and the Ingress.
func exposureRules() []Rule {
	return []Rule{
		{"The fields port and clientCertificate of spec.tls require a certificate", "Set spec.tls.secretName, or remove spec.tls.",
			`object.spec.?tls.?secretName.orValue('') != '' || !has(object.spec.tls) ||
			!has(object.spec.tls.port) && object.spec.tls.?clientCertificate.orValue('') in ['', 'None']`,
			func(s *v1.EchoSpec) bool {
				return hasTLS(s) || s.TLS.Port == 0 && isOneOf(s.TLS.ClientCertificate, v1.ClientCertificateNone)
			}},
		{"The field spec.tls.clientCertificate is not None, Request, or Require", "Set it to one of these values, or remove it.",
			`object.spec.?tls.?clientCertificate.orValue('') in ['', 'None', 'Request', 'Require']`,
			func(s *v1.EchoSpec) bool {
				return isOneOf(s.TLS.ClientCertificate, v1.ClientCertificateNone, v1.ClientCertificateRequest, v1.ClientCertificateRequire)
			}},
		{"The fields spec.tls.port (8443 by default) and spec.port are the same port",
			"Set one of them to another port, because the containers listen on both.",
			`object.spec.?tls.?secretName.orValue('') == '' || object.spec.tls.?port.orValue(8443) != object.spec.port`,
			func(s *v1.EchoSpec) bool { return !hasTLS(s) || httpsPort(s.TLS) != s.Port }},
		{"The field spec.tls.port is the metrics port of the echo server",
			"Set spec.tls.port to another port: metrics use port 9090, or 9091 if spec.port is 9090.",
			`object.spec.?tls.?secretName.orValue('') == '' || object.spec.?image.orValue('') != '' ||
			object.spec.tls.?port.orValue(8443) != (object.spec.port == 9090 ? 9091 : 9090)`,
			func(s *v1.EchoSpec) bool { return !hasTLS(s) || s.Image != "" || httpsPort(s.TLS) != metricsPort(s) }},
		{"The field spec.ingress.tls requires a host or a certificate", "Set spec.ingress.host or spec.ingress.tls.secretName.",
			`!object.spec.?ingress.?enabled.orValue(false) || !object.spec.ingress.?tls.?enabled.orValue(false) ||
			object.spec.ingress.tls.?secretName.orValue('') != '' || object.spec.ingress.?host.orValue('') != ''`,
			func(s *v1.EchoSpec) bool {
				return !isTrue(s.Ingress.Enabled) || !servesTLS(s.Ingress) || s.Ingress.TLS.SecretName+s.Ingress.Host != ""
			}},
		{"The field spec.ingress.path contains //, %2f, or a . or .. segment",
			"Change the path, or set spec.ingress.pathType to ImplementationSpecific.",
			`!object.spec.?ingress.?enabled.orValue(false) || object.spec.ingress.?pathType.orValue('') == 'ImplementationSpecific' ||
			!object.spec.ingress.?path.orValue('').matches('` + dotSegments.String() + `')`,
			func(s *v1.EchoSpec) bool {
				return !isTrue(s.Ingress.Enabled) || pathType(s.Ingress) == networkingv1.PathTypeImplementationSpecific ||
					!dotSegments.MatchString(s.Ingress.Path)
			}},
	}
}

// all reports whether each item of a list meets a rule.
func all[T any](items []T, holds func(T) bool) bool {
	return !slices.ContainsFunc(items, func(item T) bool { return !holds(item) })
}

// isOneOf reports whether a field that is set has one of some values.
func isOneOf[T ~string](field T, values ...T) bool {
	return field == "" || slices.Contains(values, field)
}

func gatewayRules() []Rule {
	rule := func(problem, advice, expression string, holds func(*v1.EchoSpec) bool) Rule {
		return Rule{problem, advice, "!object.spec.?gateway.?enabled.orValue(false) || " + expression, func(s *v1.EchoSpec) bool {
			return !isTrue(s.Gateway.Enabled) || holds(s)
		}}
	}
	return []Rule{
		rule("The field spec.gateway.parentRefs is empty", "List at least one Gateway, or set spec.gateway.enabled to false.",
			`object.spec.gateway.?parentRefs.orValue([]).size() > 0`,
			func(s *v1.EchoSpec) bool { return len(s.Gateway.ParentRefs) > 0 }),
		rule("Two items of spec.gateway.parentRefs refer to the same Gateway", "Set a different sectionName in each, as the Gateway API requires.",
			`object.spec.gateway.?parentRefs.orValue([]).all(a, object.spec.gateway.parentRefs.filter(b, a.name == b.name &&
			a.?namespace.orValue('') == b.?namespace.orValue('') && (a.?sectionName.orValue('') == '' ||
			b.?sectionName.orValue('') == '' || a.sectionName == b.sectionName)).size() == 1)`,
			func(s *v1.EchoSpec) bool { return !repeats(s.Gateway.ParentRefs) }),
		rule("The field spec.gateway.path contains //, %2f, a . or .. segment, or a character that URLs must escape",
			"Change the path, as the Gateway API requires.",
			`object.spec.gateway.?path.orValue('') == '' || object.spec.gateway.path.matches(r'`+routePath.String()+`') &&
			!object.spec.gateway.path.matches('`+dotSegments.String()+`')`,
			func(s *v1.EchoSpec) bool {
				return s.Gateway.Path == "" || routePath.MatchString(s.Gateway.Path) && !dotSegments.MatchString(s.Gateway.Path)
			}),
		rule("The field spec.gateway.backendTLS requires a certificate", "Set spec.tls.secretName, or remove spec.gateway.backendTLS.",
			`!has(object.spec.gateway.backendTLS) || object.spec.?tls.?secretName.orValue('') != ''`,
			func(s *v1.EchoSpec) bool { return s.Gateway.BackendTLS == nil || hasTLS(s) }),
		rule("The field spec.gateway.grpc requires spec.gateway.hostnames",
			"Set spec.gateway.hostnames. Otherwise, the HTTPRoute would also match the host names of the GRPCRoute.",
			`!has(object.spec.gateway.grpc) || object.spec.gateway.?hostnames.orValue([]).size() > 0`,
			func(s *v1.EchoSpec) bool { return s.Gateway.GRPC == nil || len(s.Gateway.Hostnames) > 0 }),
		rule("A host name in spec.gateway.grpc.hostnames overlaps one in spec.gateway.hostnames",
			"Change one of them: a listener accepts a host name from only one kind of route.",
			`object.spec.gateway.?grpc.?hostnames.orValue([]).all(a, object.spec.gateway.?hostnames.orValue([]).all(b, a != b &&
			!(a.startsWith('*.') && b.endsWith(a.substring(1))) && !(b.startsWith('*.') && a.endsWith(b.substring(1)))))`,
			func(s *v1.EchoSpec) bool {
				return s.Gateway.GRPC == nil || all(s.Gateway.GRPC.Hostnames, func(grpc string) bool {
					return all(s.Gateway.Hostnames, func(http string) bool { return !covers(http, grpc) && !covers(grpc, http) })
				})
			}),
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
	const headers = "object.spec.?response.?headers.orValue([])"
	return []Rule{
		{"The field spec.response.headers has a header that the server manages, such as Connection or Content-Length", "Remove the header.",
			headers + `.all(h, !h.name.lowerAscii().matches('` + managed.String() + `'))`,
			func(s *v1.EchoSpec) bool {
				return all(s.Response.Headers, func(h v1.EchoHeader) bool { return !managed.MatchString(strings.ToLower(h.Name)) })
			}},
		{"The Content-Type in spec.response.headers requires spec.response.body, because the response contains data that clients send",
			"Set a body, or use application/json, application/problem+json, application/octet-stream, text/csv, or text/plain.",
			`object.spec.?response.?body.orValue('') != '' ||
			` + headers + `.all(h, h.name.lowerAscii() != 'content-type' || h.?value.orValue('').matches('` + inert.String() + `'))`,
			func(s *v1.EchoSpec) bool {
				return s.Response.Body != "" || all(s.Response.Headers, func(h v1.EchoHeader) bool {
					return !strings.EqualFold(h.Name, "content-type") || inert.MatchString(h.Value)
				})
			}},
		{"The names and values in spec.response.headers have more than 60000 bytes", "Shorten them.",
			headers + `.map(h, size(bytes(h.name)) + size(bytes(h.?value.orValue('')))).sum() <= 60000`,
			func(s *v1.EchoSpec) bool {
				total := 0
				for _, h := range s.Response.Headers {
					total += len(h.Name) + len(h.Value)
				}
				return total <= 60000
			}},
		{"The field spec.response.body has more than 131000 bytes", "Shorten the body.",
			`size(bytes(object.spec.?response.?body.orValue(''))) <= 131000`,
			func(s *v1.EchoSpec) bool { return len(s.Response.Body) <= 131000 }},
		{"The field spec.server.controls is not Safe, Full, or None", "Set it to one of these values, or remove it.",
			`object.spec.?server.?controls.orValue('') in ['', 'Safe', 'Full', 'None']`,
			func(s *v1.EchoSpec) bool {
				return isOneOf(s.Server.Controls, v1.ControlsSafe, v1.ControlsFull, v1.ControlsNone)
			}},
	}
}

func faultRules() []Rule {
	rule := func(problem, advice, expression string, holds func(v1.EchoFault) bool) Rule {
		return Rule{problem, advice, "object.spec.?response.?faults.orValue([]).all(f, " + expression + ")", func(s *v1.EchoSpec) bool {
			return all(s.Response.Faults, holds)
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
			func(s *v1.EchoSpec) bool {
				return all(s.Tolerations, func(t corev1.Toleration) bool { return t.Key != "" || t.Operator == corev1.TolerationOpExists })
			}},
		{"An item of spec.tolerations has tolerationSeconds without the effect NoExecute", "Set the effect, or remove tolerationSeconds.",
			`object.spec.?tolerations.orValue([]).all(t, !has(t.tolerationSeconds) || t.?effect.orValue('') == 'NoExecute')`,
			func(s *v1.EchoSpec) bool {
				return all(s.Tolerations, func(t corev1.Toleration) bool {
					return t.TolerationSeconds == nil || t.Effect == corev1.TaintEffectNoExecute
				})
			}},
		{"An item of spec.networkPolicy.from has both an ipBlock and a selector, or neither",
			"Set either ipBlock, or podSelector, namespaceSelector, or both. An empty podSelector {} selects all pods.",
			`object.spec.?networkPolicy.?from.orValue([]).all(p, has(p.ipBlock) != (has(p.podSelector) || has(p.namespaceSelector)))`,
			func(s *v1.EchoSpec) bool {
				return all(s.NetworkPolicy.From, func(p networkingv1.NetworkPolicyPeer) bool {
					return (p.IPBlock != nil) != (p.PodSelector != nil || p.NamespaceSelector != nil)
				})
			}},
	}
}
