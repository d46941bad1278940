package integration

import (
	"errors"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

// ruleCases maps specs to a part of the message that rejects them, or to an empty string if the spec is valid. The schema accepts them all.
func ruleCases() map[string]string {
	const ingress, gateway, tls = "Set spec.ingress.enabled to true or false", "Set spec.gateway.enabled to true or false", "tls: {secretName: a}"
	const on, parents = "gateway: {enabled: true, ", "parentRefs: [{name: a}]"
	html := func(body string) string {
		return "{response: {" + body + "headers: [{name: Content-type, value: text/html}]}}"
	}
	cases := map[string]string{
		"{replicas: 2}": "",
		// Objects that are created only on request.
		"{ingress: {}}":                                             "",
		"{ingress: {host: '', annotations: {}}}":                    "",
		"{ingress: {host: a}}":                                      ingress,
		"{ingress: {pathType: Exact}}":                              ingress,
		"{ingress: {annotations: {a: b}}}":                          ingress,
		"{ingress: {tls: {}}}":                                      ingress,
		"{ingress: {enabled: false, host: a}}":                      "",
		"{ingress: {enabled: true, host: a, tls: {secretName: b}}}": "Set spec.ingress.tls.enabled to true or false",
		"{ingress: {enabled: true, host: a, tls: {}}}":              "",
		"{gateway: {}}":                                             "",
		"{gateway: {parentRefs: [], path: ''}}":                     "",
		"{gateway: {parentRefs: [{name: a}]}}":                      gateway,
		"{gateway: {grpc: {hostnames: [a]}}}":                       gateway,
		"{gateway: {path: /a}}":                                     gateway,
		"{gateway: {enabled: false, path: /a}}":                     "",
		"{networkPolicy: {}}":                                       "",
		"{networkPolicy: {from: []}}":                               "",
		"{networkPolicy: {from: [{podSelector: {}}]}}":              "Set spec.networkPolicy.enabled to true or false",
		"{monitoring: {}}":                                          "",
		// The Service.
		"{service: {externalTrafficPolicy: Local}}":                              "requires the type NodePort or LoadBalancer",
		"{service: {type: '', externalTrafficPolicy: Local}}":                    "requires the type NodePort or LoadBalancer",
		"{service: {type: NodePort, externalTrafficPolicy: Local}}":              "",
		"{service: {externalTrafficPolicy: ''}}":                                 "",
		"{service: {type: NodePort, loadBalancerClass: x}}":                      "loadBalancerClass requires the type LoadBalancer",
		"{service: {type: LoadBalancer, loadBalancerClass: x}}":                  "",
		"{service: {loadBalancerSourceRanges: [10.0.0.0/8]}}":                    "loadBalancerSourceRanges requires the type",
		"{service: {loadBalancerSourceRanges: []}}":                              "",
		"{service: {ipFamilies: [IPv4, IPv6]}}":                                  "PreferDualStack or RequireDualStack",
		"{service: {ipFamilies: [IPv4, IPv6], ipFamilyPolicy: SingleStack}}":     "PreferDualStack or RequireDualStack",
		"{service: {ipFamilies: [IPv4, IPv6], ipFamilyPolicy: PreferDualStack}}": "",
		"{service: {portName: https}}":                                           "reserved for the HTTPS port",
		"{service: {portName: ''}}":                                              "",
		"{service: {httpsPort: 444}}":                                            "spec.service.httpsPort requires a certificate",
		"{service: {port: 443}}":                                                 "",
		"{service: {port: 443}, " + tls + "}":                                    "spec.service.port are the same port",
		"{service: {port: 8443, httpsPort: 8443}, " + tls + "}":                  "spec.service.port are the same port",
		"{service: {port: 443, httpsPort: 80}, " + tls + "}":                     "",
		// TLS.
		"{tls: {}}": "",
		"{tls: {secretName: '', clientCertificate: ''}}":                          "",
		"{tls: {port: 8443}}":                                                     "port and clientCertificate of spec.tls require a certificate",
		"{tls: {clientCertificate: Require}}":                                     "require a certificate",
		"{tls: {clientCertificate: None}}":                                        "",
		"{tls: {secretName: a, clientCertificate: Maybe}}":                        "not None, Request, or Require",
		"{tls: {secretName: a, clientCertificate: Request}}":                      "",
		"{port: 8443, " + tls + "}":                                               "spec.port are the same port",
		"{port: 8443, tls: {secretName: a, port: 8080}}":                          "",
		"{tls: {secretName: a, port: 8080}}":                                      "spec.port are the same port",
		"{tls: {secretName: a, port: 9090}}":                                      "is the metrics port",
		"{port: 9090, tls: {secretName: a, port: 9091}}":                          "is the metrics port",
		"{tls: {secretName: a, port: 9091}}":                                      "",
		"{image: other, tls: {secretName: a, port: 9090}}":                        "",
		"{ingress: {enabled: true, tls: {enabled: true}}}":                        "Set spec.ingress.host or spec.ingress.tls.secretName",
		"{ingress: {enabled: false, tls: {enabled: true}}}":                       "",
		"{ingress: {enabled: true, tls: {enabled: true, secretName: a}}}":         "",
		"{ingress: {enabled: true, path: /a/../b}}":                               "a . or .. segment",
		"{ingress: {enabled: true, path: /a/..}}":                                 "a . or .. segment",
		"{ingress: {enabled: true, path: /a%2Fb}}":                                "%2f",
		"{ingress: {enabled: true, path: //a, pathType: ImplementationSpecific}}": "",
		"{ingress: {enabled: true, path: /.a/b../...}}":                           "",
		// Routes.
		"{gateway: {enabled: true}}":                                                                    "parentRefs is empty",
		"{gateway: {enabled: true, parentRefs: []}}":                                                    "parentRefs is empty",
		"{" + on + parents + "}}":                                                                       "",
		"{" + on + "parentRefs: [{name: a}, {name: a}]}}":                                               "same Gateway",
		"{" + on + "parentRefs: [{name: a}, {name: a, sectionName: x}]}}":                               "same Gateway",
		"{" + on + "parentRefs: [{name: a, sectionName: x}, {name: a, sectionName: x}]}}":               "same Gateway",
		"{" + on + "parentRefs: [{name: a, sectionName: b}, {name: a, sectionName: x}]}}":               "",
		"{" + on + "parentRefs: [{name: a, namespace: b}, {name: a}]}}":                                 "",
		"{" + on + "parentRefs: [{name: a, namespace: ''}, {name: a}]}}":                                "same Gateway",
		"{" + on + parents + ", path: /a%20b/~c'}}":                                                     "",
		"{" + on + parents + ", path: '/a b'}}":                                                         "that URLs must escape",
		"{" + on + parents + ", path: '/a?b'}}":                                                         "that URLs must escape",
		"{" + on + parents + ", path: /a/.}}":                                                           "a . or .. segment",
		"{" + on + parents + ", path: '/a%2'}}":                                                         "that URLs must escape",
		"{" + on + parents + ", path: '/a/./b'}}":                                                       "a . or .. segment",
		"{" + on + parents + ", backendTLS: {hostname: a, caConfigMap: b}}}":                            "spec.gateway.backendTLS requires a certificate",
		"{" + on + parents + ", backendTLS: {hostname: a, caConfigMap: b}}, " + tls + "}":               "",
		"{gateway: {enabled: false, backendTLS: {hostname: a, caConfigMap: b}}}":                        "",
		"{" + on + parents + ", grpc: {hostnames: [a]}}}":                                               "requires spec.gateway.hostnames",
		"{" + on + parents + ", hostnames: [a], grpc: {hostnames: [b]}}}":                               "",
		"{" + on + parents + ", hostnames: [x, a.b], grpc: {hostnames: [z, a.b]}}}":                     "overlaps one in spec.gateway.hostnames",
		"{" + on + parents + ", hostnames: ['*.example.com'], grpc: {hostnames: [a.b.example.com]}}}":   "overlaps",
		"{" + on + parents + ", hostnames: [a.example.com], grpc: {hostnames: ['*.example.com']}}}":     "overlaps",
		"{" + on + parents + ", hostnames: ['*.example.com'], grpc: {hostnames: ['*.a.example.com']}}}": "overlaps",
		"{" + on + parents + ", hostnames: ['*.example.com'], grpc: {hostnames: [a.badexample.com]}}}":  "",
		"{" + on + parents + ", hostnames: ['*.example.com'], grpc: {hostnames: [example.com]}}}":       "",
		// The response.
		"{response: {headers: [{name: content-LENGTH, value: '1'}]}}": "a header that the server manages",
		"{response: {headers: [{name: Upgraded}]}}":                   "",
		html(""):            "because the response contains data that clients send",
		html("body: '', "):  "because the response contains data that clients send",
		html("body: <p>, "): "",
		"{response: {headers: [{name: Content-Type}]}}":                                                          "because the response contains data",
		"{response: {headers: [{name: content-type, value: text/plain; charset=utf-8}]}}":                        "",
		"{response: {headers: [" + strings.Repeat("{name: a, value: "+strings.Repeat("b", 7499)+"},", 8) + "]}}": "",
		"{response: {headers: [" + strings.Repeat("{name: a, value: "+strings.Repeat("語", 2500)+"},", 8) + "]}}": "more than 60000 bytes",
		"{response: {body: " + strings.Repeat("語", 43666) + "}}":                                                 "",
		"{response: {body: " + strings.Repeat("語", 43667) + "}}":                                                 "more than 131000 bytes",
		"{server: {controls: Some}}": "not Safe, Full, or None",
		"{server: {controls: ''}}":   "",
		// Faults.
		"{response: {faults: [{percentage: 5, failures: 1}]}}":                    "A fault in spec.response.faults has no effect",
		"{response: {faults: [{delayMilliseconds: 0, maxDelayMilliseconds: 0}]}}": "has no effect",
		"{response: {faults: [{statusCode: 500}, {connection: ''}]}}":             "has no effect",
		"{response: {faults: [{maxDelayMilliseconds: 1}]}}":                       "",
		"{response: {faults: [{delayMilliseconds: 5, maxDelayMilliseconds: 4}]}}": "below its delayMilliseconds",
		"{response: {faults: [{delayMilliseconds: 5, maxDelayMilliseconds: 0}]}}": "",
		"{response: {faults: [{connection: Hang}]}}":                              "not Reset or Truncate",
		"{response: {faults: [{connection: Reset, statusCode: 500}]}}":            "both a statusCode and the connection Reset",
		"{response: {faults: [{connection: Truncate, statusCode: 500}]}}":         "",
		// Pods and peers.
		"{tolerations: [{}]}":                                                                      "neither a key nor the operator Exists",
		"{tolerations: [{key: '', operator: Equal}]}":                                              "neither a key nor the operator Exists",
		"{tolerations: [{operator: Exists}]}":                                                      "",
		"{tolerations: [{key: a, tolerationSeconds: 0}]}":                                          "without the effect NoExecute",
		"{tolerations: [{key: a, tolerationSeconds: 0, effect: NoExecute}]}":                       "",
		"{networkPolicy: {enabled: true, from: [{}]}}":                                             "both an ipBlock and a selector, or neither",
		"{networkPolicy: {enabled: true, from: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}}": "both an ipBlock",
		"{networkPolicy: {enabled: true, from: [{namespaceSelector: {}}, {podSelector: {}}]}}":     "",
	}
	return cases
}

var _ = Describe("the rules for Echoes", func() {
	It("are the same in the operator and in the ValidatingAdmissionPolicy", func(ctx SpecContext) {
		namespace, cases := newNamespace(ctx), ruleCases()
		create := func(spec string) (*unstructured.Unstructured, error) {
			echo := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal([]byte(echoManifest(namespace, "ruled", spec)), &echo.Object)).To(Succeed(), spec)
			return echo, k8s.Create(ctx, echo, client.DryRunAll)
		}

		By("asking the operator")
		answers, rejectedBy := map[string]string{}, map[string]bool{}
		for spec, want := range cases {
			stored, err := create(spec)
			Expect(err).NotTo(HaveOccurred(), spec)
			echo := &v1.Echo{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, echo)).To(Succeed())
			err = objects.Policy{MaxReplicas: maxReplicas}.Check(echo)
			if want == "" {
				Expect(err).NotTo(HaveOccurred(), spec)
				continue
			}
			Expect(err).To(MatchError(ContainSubstring(want)), spec)
			invalid := &objects.InvalidSpecError{}
			Expect(errors.As(err, &invalid)).To(BeTrue())
			answers[spec], rejectedBy[invalid.Message] = err.Error(), true
		}
		for _, rule := range objects.Rules() {
			Expect(rejectedBy).To(HaveKey(rule.Problem), "no spec breaks this rule")
		}

		older := &unstructured.Unstructured{}
		Expect(yaml.Unmarshal([]byte(echoManifest(namespace, "older", "{ingress: {host: a}}")), &older.Object)).To(Succeed())
		Expect(k8s.Create(ctx, older)).To(Succeed())

		By("asking the API server")
		file := support.Read("config/components/admission-policy/admission_policy.yaml")
		policy := []client.Object{&admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}}
		for i, document := range strings.Split(file, "\n---\n") {
			Expect(yaml.UnmarshalStrict([]byte(document), policy[i])).To(Succeed())
			Expect(k8s.Create(ctx, policy[i])).To(Succeed())
			DeferCleanup(k8s.Delete, policy[i])
		}
		Eventually(func() error {
			_, err := create("{ingress: {host: a}}")
			return err
		}).WithContext(ctx).Should(MatchError(ContainSubstring("echo-operator-rules")))
		for spec := range cases {
			_, err := create(spec)
			if answers[spec] == "" {
				Expect(err).NotTo(HaveOccurred(), spec)
			} else {
				Expect(err).To(MatchError(ContainSubstring(answers[spec])), spec)
			}
		}

		By("editing an Echo that was stored before the policy")
		edited := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		Expect(k8s.Patch(ctx, older, edited)).To(Succeed())
		Expect(k8s.Delete(ctx, older)).To(Succeed())
		Eventually(func() error { return k8s.Get(ctx, client.ObjectKeyFromObject(older), older) }).WithContext(ctx).
			Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	}, SpecTimeout(specTimeout))
})
