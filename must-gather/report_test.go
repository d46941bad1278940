package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// fixture is a cluster with a broken Echo and an operator whose pod was restarted.
func fixture(t *testing.T) *gatherer {
	t.Helper()
	g := &gatherer{options: options{folder: t.TempDir()}, out: io.Discard, redactor: rules(t), server: "v1.36.3", found: map[string][]object{},
		denied: []string{"patch deployments.apps in all namespaces"}, missed: []missed{{"leases", "forbidden <by> RBAC"}}}
	for kind, manifests := range map[string][]string{
		echoes: {
			`{kind: Echo, metadata: {namespace: team, name: good}, status: {phase: Ready}}`,
			`{kind: Echo, metadata: {namespace: team, name: broken}, status: {phase: Warning, message: No <node> fits., conditions: [
				{type: Ready, status: "False", reason: Unschedulable, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`,
			`{kind: Echo, metadata: {namespace: team, name: routed}, status: {phase: Warning, message: Not accepted., conditions: [
				{type: Ready, status: "True", reason: AllPodsReady, lastTransitionTime: "2026-01-01T00:00:00Z"},
				{type: Degraded, status: "True", reason: RouteNotAccepted, lastTransitionTime: "2026-01-02T00:00:00Z"}]}}`,
			`{kind: Echo, metadata: {namespace: team, name: unseen}}`,
		},
		deployments: {`{kind: Deployment, metadata: {namespace: home, name: manager, labels: {app.kubernetes.io/name: echo-operator}}, spec: {replicas: 1, template: {spec: {
			containers: [{name: manager, image: "quay.io/echo-operator/echo-operator:v0.1.0"}]}}}, status: {readyReplicas: 1}}`},
		pods: {`{kind: Pod, metadata: {namespace: home, name: manager-x, labels: {app.kubernetes.io/name: echo-operator}}, status: {phase: Running, containerStatuses: [
			{name: manager, restartCount: 3, state: {running: {}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "2026-01-02T00:00:00Z"}}}]}}`},
		leases: {`{kind: Lease, metadata: {namespace: home, name: echo-operator.example.com}, spec: {holderIdentity: manager-x_1}}`},
		events: {
			`{kind: Event, metadata: {name: a}, type: Warning, reason: Older, note: first, eventTime: "2026-01-01T00:00:00.000000Z", regarding: {kind: Pod, name: x}}`,
			`{kind: Event, metadata: {name: b}, type: Normal, reason: Harmless, eventTime: "2026-01-03T00:00:00.000000Z"}`,
			`{kind: Event, metadata: {name: c}, type: Warning, reason: Newer, note: second, deprecatedLastTimestamp: "2026-01-02T00:00:00Z"}`,
		},
	} {
		for _, manifest := range manifests {
			g.keep(kind)(parsed(t, manifest))
		}
	}
	return g
}

func TestTheReportSumsUp(t *testing.T) {
	page, err := fixture(t).report()
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
	text = regexp.MustCompile(`\s+`).ReplaceAllString(text, " ")
	for _, want := range []string{
		"Kubernetes v1.36.3", "home/manager : 1 of 1 ready, quay.io/echo-operator/echo-operator:v0.1.0", "Leader manager-x_1",
		"Echoes 4, Ready: 1, Warning: 2, no status: 1",
		"team/broken Warning Unschedulable 2026-01-01T00:00:00Z No &lt;node&gt; fits. Change the node selector",
		"team/routed Warning RouteNotAccepted 2026-01-02T00:00:00Z Not accepted. Create or correct the Gateway",
		"team/unseen no status No operator watches the namespace",
		"patch deployments.apps in all namespaces", "leases forbidden &lt;by&gt; RBAC", "not found",
		"home/manager-x manager 3 2026-01-02T00:00:00Z OOMKilled 137",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if newer, older := strings.Index(text, "Newer second"), strings.Index(text, "Older first"); newer < 0 || older < newer {
		t.Error("the warnings are not newest first:", text)
	}
	for _, unwanted := range []string{"team/good", "Harmless", "<script", "src=", "http://"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("%q is in the report:\n%s", unwanted, page)
		}
	}
}

func TestEveryFileIsWritten(t *testing.T) {
	g := fixture(t)
	if err := g.finish(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"index.html", "namespaces/team/example.com/echoes.yaml", "namespaces/home/core/pods.yaml", "namespaces/home/coordination.k8s.io/leases.yaml"} {
		content(t, g.folder, file)
	}
	if text := content(t, g.folder, "version"); !strings.HasPrefix(text, "echo-operator/must-gather\ndev\n") {
		t.Error("the version is", text)
	}
}

func TestWhatCannotBeWrittenIsAnError(t *testing.T) {
	g := fixture(t)
	g.write("namespaces", "a file in the place of a folder")
	if err := g.finish(); err == nil || !strings.Contains(err.Error(), "namespaces") {
		t.Error("the error is", err)
	}
	content(t, g.folder, "index.html")
}

// TestEveryReasonHasAdvice compares advice.yaml with the reasons that the conditions of an Echo can have.
func TestEveryReasonHasAdvice(t *testing.T) {
	advice := map[string]string{}
	if err := yaml.Unmarshal(adviceText, &advice); err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "../api/v1/echo_reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	fine := []string{"AllPodsReady", "ScaledToZero", "RolledOut", "AsExpected", "Paused"}
	reasons := []string{"other", "none"}
	ast.Inspect(file, func(node ast.Node) bool {
		if constant, ok := node.(*ast.ValueSpec); ok && strings.HasPrefix(constant.Names[0].Name, "Reason") {
			reasons = append(reasons, strings.Trim(constant.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	for _, reason := range reasons {
		if advice[reason] == "" && !slices.Contains(fine, reason) {
			t.Errorf("there is no advice for %s", reason)
		}
	}
	for reason := range advice {
		if !slices.Contains(reasons, reason) {
			t.Errorf("there is advice for %s, which is no reason", reason)
		}
	}
}
