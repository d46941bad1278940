package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	bundle := t.TempDir()
	manifests := filepath.Join(bundle, "manifests")
	if err := os.Mkdir(manifests, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"csv.yaml": `kind: ClusterServiceVersion
metadata: {name: a.v1.0.0}
spec:
  install:
    spec:
      deployments: [{name: manager, spec: {template: {spec: {serviceAccountName: account}}}}]
      permissions: [{rules: [{apiGroups: [g], resources: [r], resourceNames: [own], verbs: [get]}]}]
      clusterPermissions: [{rules: [{nonResourceURLs: [/metrics], verbs: [put]}]}]`,
		"crd.yaml":     "kind: CustomResourceDefinition\nmetadata: {name: as.g}",
		"budget.yaml":  "kind: PodDisruptionBudget\nmetadata: {name: budget}",
		"service.yaml": "kind: Service\nmetadata: {name: metrics}",
		"role.yaml":    "kind: ClusterRole\nmetadata: {name: viewer}\nrules: [{apiGroups: [g], resources: [as], verbs: [list]}]",
	} {
		if err := os.WriteFile(filepath.Join(manifests, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(&out, bundle, "ext", "ns"); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"kind: Namespace metadata: name: ns",
		"kind: ServiceAccount metadata: name: ext-installer namespace: ns",
		"- clusterextensions/finalizers resourceNames: - ext verbs: - update",
		"- customresourcedefinitions resourceNames: - as.g verbs: - get - update - patch - delete",
		"- g resources: - r resourceNames: - own verbs: - get",
		"- nonResourceURLs: - /metrics verbs: - put",
		"- g resources: - as verbs: - list",
		"- apps resources: - deployments resourceNames: - manager verbs: - get - update - patch - delete",
		"- policy resources: - poddisruptionbudgets resourceNames: - budget verbs: - get - update - patch - delete",
		`- "" resources: - services resourceNames: - metrics verbs: - get - update - patch - delete`,
		"- serviceaccounts resourceNames: - account verbs: - get - update - patch - delete",
		`- "" resources: - serviceaccounts verbs: - list - watch`,
		`- "" resources: - namespaces verbs: - get - list - watch`,
		"kind: ClusterRole name: ext-installer subjects: - kind: ServiceAccount name: ext-installer namespace: ns",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\n is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "a.v1.0.0") || strings.Contains(got, "escalate") || strings.Contains(got, "*") {
		t.Error(got)
	}
}

func TestRunFails(t *testing.T) {
	if err := run(&bytes.Buffer{}, t.TempDir(), "ext", "ns"); err == nil || !strings.Contains(err.Error(), "no manifests") {
		t.Errorf("without manifests: %v", err)
	}
}
