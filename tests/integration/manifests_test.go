package integration

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The manifests contain the fields that public manifests for echo workloads use most often. docs/how-to/set-other-fields.md describes
// fields that only other field managers can set. The manifests on that page have a separate test.
var _ = Describe("a manifest", func() {
	var modes = map[string][]string{"client": nil, "server": {"--server-side"}}

	DescribeTable("has no difference after it is applied",
		func(ctx SpecContext, spec, child, template, output string) {
			for name, flags := range modes {
				namespace := newNamespace(ctx)
				applied(ctx, namespace, name, echoManifest(namespace, name, spec), flags)
				Expect(kubectl(ctx, "get", child, name, "-n", namespace, "-o", "jsonpath="+template)).To(
					Equal(strings.ReplaceAll(output, "the-echo", name)))
			}
		},
		Entry("with variables, some of which the operator also sets", `{env: [
			{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}},
			{name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}},
			{name: ECHO_POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.uid}}},
			{name: ECHO_NODE_NAME, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}}]}`,
			"deployment", `{range .spec.template.spec.containers[0].env[?(@.valueFrom)]}{.name}={.valueFrom.fieldRef.fieldPath} {end}`,
			"ECHO_POD_NAMESPACE=metadata.namespace ECHO_POD_IP=status.podIP ECHO_HOST_IP=status.hostIP POD_NAME=metadata.name "+
				"NAMESPACE=metadata.namespace ECHO_POD_NAME=metadata.uid ECHO_NODE_NAME=spec.nodeName "),
		Entry("with labels for the Deployment", "{commonMetadata: {labels: {app: backend, version: v1}}}",
			"deployment", "{.metadata.labels.app}-{.metadata.labels.version}", "backend-v1"),
		Entry("with the name of the port", "{service: {port: 8080, portName: first-port}}",
			"service", "{.spec.ports[*].name}:{.spec.ports[*].port}", "first-port:8080"),
		Entry("with an Ingress and a port name that Ingresses do not allow", "{service: {portName: http-echo-server}, ingress: {enabled: true}}",
			"ingress", "{..service.name}:{..service.port.number}", "the-echo:80"),
	)
})

// applied applies an Echo's manifest, and completes the Echo's rollout. It then expects that nothing differs from the manifest, and that
// the operator has nothing left to do.
func applied(ctx context.Context, namespace, name, manifest string, flags []string) {
	GinkgoHelper()
	flags = append([]string{"-n", namespace, "-f", "-"}, flags...)
	kubectlInput(ctx, manifest, append([]string{"apply", "--validate=strict"}, flags...)...)
	rollOut(ctx, namespace, name)
	kubectlInput(ctx, manifest, append([]string{"diff"}, flags...)...)
	expectNoWrite(ctx, echoNow(ctx, Default, namespace, name))
}
