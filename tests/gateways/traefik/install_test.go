package traefik

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/pathcheck"
	"github.com/echo-operator/echo-operator/tests/support"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// gateway is a Traefik instance on the test cluster.
type gateway struct {
	namespace, address string
	// authority is the PEM-encoded certificate that Traefik presents.
	authority string
}

// standardCRDs returns the directory of Gateway API's standard CustomResourceDefinitions, in the version that Traefik implements.
func standardCRDs(ctx context.Context) string {
	GinkgoHelper()
	return filepath.Join(support.ModuleFolder(ctx, "tools/traefik", "sigs.k8s.io/gateway-api"), "config", "crd", "standard")
}

func installCRDs(ctx context.Context) {
	GinkgoHelper()
	folder := standardCRDs(ctx)
	realcluster.Kubectl(ctx, "apply", "--server-side", "-f", folder)
	realcluster.WaitForCRDs(ctx, "-f", folder, waitTimeout)
}

func deleteCRDs(ctx context.Context) {
	GinkgoHelper()
	realcluster.Kubectl(ctx, "delete", "--ignore-not-found", "-f", standardCRDs(ctx), waitTimeout)
}

// removeAll deletes the objects that the specs create.
func removeAll(ctx context.Context) {
	GinkgoHelper()
	namespaces.RemoveAllBut(ctx)
	deleteCRDs(ctx)
	for _, kind := range []string{"clusterrolebindings", "clusterroles", "ingressclasses", "customresourcedefinitions"} {
		realcluster.Kubectl(ctx, "delete", kind, "-l", support.TestLabel)
	}
}

// newGateway creates a Traefik instance's Services, and the certificate that Traefik presents.
func newGateway(ctx context.Context) gateway {
	GinkgoHelper()
	g := gateway{namespace: namespaces.New(ctx)}
	realcluster.KubectlInput(ctx, support.Read("tests/gateways/traefik/testdata/services.yaml"), "apply", "-n", g.namespace, "-f", "-")
	g.address = realcluster.Kubectl(ctx, "get", "service", "-n", g.namespace, "traefik", "-o", "jsonpath={.spec.clusterIP}")
	g.authority = certificate(ctx, g.namespace, "gateway", "*."+g.namespace+".svc.cluster.local")
	return g
}

// certificate stores a new certificate in a Secret, and returns the certificate in PEM format.
func certificate(ctx context.Context, namespace, secret string, names ...string) string {
	GinkgoHelper()
	key := client.ObjectKey{Namespace: namespace, Name: secret}
	realcluster.ApplyCertificate(ctx, k8s, key, 90*24*time.Hour, names...)
	object := &corev1.Secret{}
	Expect(k8s.Get(ctx, key, object)).To(Succeed())
	return string(object.Data["ca.crt"])
}

// host returns the host name of one of the gateway's Services.
func (g gateway) host(service string) string {
	return service + "." + g.namespace + ".svc.cluster.local"
}

// apply applies a file from testdata.
func (g gateway) apply(ctx context.Context, file string) {
	GinkgoHelper()
	filled := strings.NewReplacer("NAMESPACE", g.namespace, "ADDRESS", g.address).Replace(support.Read("tests/gateways/traefik/testdata/" + file))
	realcluster.KubectlInput(ctx, filled, "apply", "-n", g.namespace, "-f", "-")
}

// run starts Traefik with additional arguments, and waits until no earlier instance is running.
func (g gateway) run(ctx context.Context, arguments ...string) {
	GinkgoHelper()
	g.apply(ctx, "traefik.yaml")
	for _, each := range arguments {
		realcluster.Kubectl(ctx, "patch", "-n", g.namespace, "deployment/traefik", "--type=json", "-p",
			`[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "`+each+`"}]`)
	}
	realcluster.Kubectl(ctx, "rollout", "status", "-n", g.namespace, "deployment/traefik", waitTimeout)
}

// trust stores a certificate in a ConfigMap, so that pods can trust it as a certificate authority.
func trust(ctx context.Context, namespace, name, authority string) {
	GinkgoHelper()
	Expect(k8s.Create(ctx,
		&corev1.ConfigMap{Namespace: namespace, Name: name, Data: map[string]string{"ca.crt": authority}})).To(
		Succeed())
}

// examine runs pathcheck in pods until the URL leads to an Echo, and returns the report. Traefik applies a new route after a few seconds.
func examine(ctx context.Context, namespace, url string, arguments ...string) *pathcheck.Report {
	GinkgoHelper()
	var report *pathcheck.Report
	Eventually(func(g Gomega) {
		report = runPathcheck(ctx, g, namespace, url, arguments...)
		g.Expect(report.Problem).To(BeEmpty(), url)
	}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
	return report
}

// runPathcheck runs pathcheck in a pod that trusts the certificate authority in its namespace's ConfigMap "gateway".
func runPathcheck(ctx context.Context, g Gomega, namespace, url string, arguments ...string) *pathcheck.Report {
	pod := &corev1.Pod{
		Namespace: namespace, GenerateName: "pathcheck-",
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
			Containers: []corev1.Container{{
				Name: "pathcheck", Image: realcluster.Image("echo-operator-pathcheck"),
				Args: append(append([]string{"--output=json", "--ca-file=/etc/gateway/ca.crt"}, arguments...), url),
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
				VolumeMounts: []corev1.VolumeMount{{Name: "gateway", MountPath: "/etc/gateway"}},
			}},
			Volumes: []corev1.Volume{
				{Name: "gateway",
					ConfigMap: &corev1.ConfigMapVolumeSource{Name: "gateway"}}},
		},
	}
	g.Expect(k8s.Create(ctx, pod)).To(Succeed())
	g.Eventually(func(g Gomega) corev1.PodPhase {
		g.Expect(k8s.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		return pod.Status.Phase
	}).WithContext(ctx).Should(BeElementOf(corev1.PodSucceeded, corev1.PodFailed))
	output, err := realcluster.TryKubectl(ctx, "logs", "-n", namespace, pod.Name)
	g.Expect(err).NotTo(HaveOccurred())
	report := &pathcheck.Report{}
	g.Expect(json.Unmarshal([]byte(output), report)).To(Succeed(), output)
	return report
}

// facts returns a report's facts by name.
func facts(report *pathcheck.Report) map[string]string {
	all := map[string]string{}
	for _, each := range report.Facts {
		all[each.Name] = each.Value
	}
	return all
}

// overHTTP converts an Echo's HTTPS URL to HTTP.
func overHTTP(url string) string { return strings.Replace(url, "https://", "http://", 1) }
