package mustgather

import (
	"io"
	"strings"
	"testing"
)

// fixture returns a gatherer that has found an Echo and an operator in a cluster.
func fixture(t *testing.T) *gatherer {
	t.Helper()
	g := &gatherer{folder: t.TempDir(), version: "dev", out: io.Discard, redactor: rules(t), found: map[string][]object{},
		missed: []missed{{"leases", "forbidden by RBAC"}}}
	for kind, manifest := range map[string]string{
		echoes: `{kind: Echo, metadata: {namespace: team, name: good}, status: {phase: Ready}}`,
		pods: `{kind: Pod, metadata: {namespace: home, name: manager-x, labels: {app.kubernetes.io/name: echo-operator}}, status: ` +
			`{phase: Running}}`,
		leases: `{kind: Lease, metadata: {namespace: home, name: echo-operator.example.com}, spec: {holderIdentity: manager-x_1}}`,
	} {
		g.keep(kind)(parsed(t, manifest))
	}
	return g
}

func TestFinish_writesEveryFile(t *testing.T) {
	g := fixture(t)
	if err := g.finish(); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"version": "echo-operator/must-gather\ndev\n", "not-read.txt": "leases: forbidden by RBAC\n",
		"namespaces/team/example.com/echoes.yaml":         "name: good",
		"namespaces/home/core/pods.yaml":                  "name: manager-x",
		"namespaces/home/coordination.k8s.io/leases.yaml": "holderIdentity: manager-x_1",
	} {
		if text := content(t, g.folder, file); !strings.Contains(text, want) {
			t.Errorf("%s contains %s", file, text)
		}
	}
}

func TestFinish_reportsWriteErrors(t *testing.T) {
	g := fixture(t)
	g.write("namespaces", "a file in place of a directory")
	if err := g.finish(); err == nil || !strings.Contains(err.Error(), "namespaces") {
		t.Error("the error is", err)
	}
	content(t, g.folder, "not-read.txt")
}
