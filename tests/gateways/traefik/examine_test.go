package traefik

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/pathcheck"
	"github.com/echo-operator/echo-operator/tests/support/realcluster"
)

// examine runs pathcheck in pods until the URL leads to an Echo, and then returns the report. Traefik applies a route a few seconds after
// its creation.
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
