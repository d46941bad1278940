package integration

import (
	"context"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		Entry("with variables that the operator sets with the same fieldRef", `{env: [
			{name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}},
			{name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}},
			{name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}},
			{name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}},
			{name: NODE_NAME, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}},
			{name: HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}]}`,
			"deployment", `{range .spec.template.spec.containers[0].env[?(@.valueFrom)]}{.name}={.valueFrom.fieldRef.fieldPath} {end}`,
			"POD_NAME=metadata.name NAMESPACE=metadata.namespace POD_NAMESPACE=metadata.namespace POD_IP=status.podIP "+
				"NODE_NAME=spec.nodeName HOST_IP=status.hostIP "),
		Entry("with labels for the Deployment", "{commonMetadata: {labels: {app: backend, version: v1}}}",
			"deployment", "{.metadata.labels.app}-{.metadata.labels.version}", "backend-v1"),
		Entry("with labels for the Service", "{commonMetadata: {labels: {app: backend, service: backend}}}",
			"service", "{.metadata.labels.app}-{.metadata.labels.service}", "backend-backend"),
		Entry("with the name of the port", "{service: {port: 8080, portName: first-port}}",
			"service", "{.spec.ports[*].name}:{.spec.ports[*].port}", "first-port:8080"),
		Entry("without replicas", "{}", "deployment", "{.spec.replicas}", "1"),
		Entry("with a number of replicas", "{replicas: 2}", "deployment", "{.spec.replicas}", "2"),
		Entry("with an application protocol", "{service: {appProtocol: kubernetes.io/h2c}}",
			"service", "{.spec.ports[*].appProtocol}", "kubernetes.io/h2c"),
		Entry("with an Ingress without a host", "{ingress: {enabled: true, className: nginx, path: /echo}}",
			"ingress", "{.spec.rules[*].host}{.spec.rules[*].http.paths[*].path} {..service.name}", "/echo the-echo"),
		Entry("with an Ingress and a port name that Ingresses do not allow", "{service: {portName: http-echo-server}, ingress: {enabled: true}}",
			"ingress", "{..service.name}:{..service.port.number}", "the-echo:80"),
	)

	DescribeTable("has no difference after it is applied with additional Services",
		func(ctx SpecContext, spec string, services ...string) {
			for name, flags := range modes {
				namespace := newNamespace(ctx)
				manifest := echoManifest(namespace, name, spec) + strings.ReplaceAll(strings.Join(services, ""), "the-echo", name)
				applied(ctx, namespace, name, manifest, flags)
				all := &corev1.ServiceList{}
				Expect(k8s.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
				Expect(all.Items).To(HaveLen(1 + len(services)))
				for _, service := range all.Items {
					expectLeadsToPods(ctx, service, name)
				}
			}
		},
		Entry("one with another name", "{}", ownService("backend", "{port: 3000, targetPort: http}")),
		Entry("several", "{}", ownService("backend-v1", "{port: 80, targetPort: http}"),
			ownService("backend-v2", "{port: 80, targetPort: http}")),
		Entry("one with several ports", "{tls: {secretName: certificate}}", ownService("backend",
			"{name: first, port: 8080, targetPort: http}, {name: second, port: 8081, targetPort: http, appProtocol: kubernetes.io/h2c}, "+
				"{name: tls, port: 8443, targetPort: https}")),
	)
})

// ownService returns the manifest of a Service that a user creates for an Echo named the-echo.
func ownService(name, ports string) string {
	return "\n---\n{apiVersion: v1, kind: Service, metadata: {name: " + name + "}, spec: {ports: [" + ports + "], " +
		"selector: {app.kubernetes.io/name: echo, app.kubernetes.io/instance: the-echo}}}"
}

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

// expectLeadsToPods expects that a Service selects an Echo's pods, and that the pods' containers have the Service's target ports.
func expectLeadsToPods(ctx context.Context, service corev1.Service, name string) {
	GinkgoHelper()
	template := deploymentNow(ctx, Default, service.Namespace, name).Spec.Template
	labels := maps.Clone(template.Labels)
	maps.Copy(labels, service.Spec.Selector)
	Expect(labels).To(Equal(template.Labels), service.Name)
	for _, port := range service.Spec.Ports {
		Expect(template.Spec.Containers[0].Ports).To(ContainElement(HaveField("Name", port.TargetPort.StrVal)), service.Name)
	}
}
