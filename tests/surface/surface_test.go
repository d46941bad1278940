package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the root of the repository.
const root = "../.."

func TestRun_isCommitted(t *testing.T) {
	var ledger bytes.Buffer
	if err := run(&ledger, root, false); err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(filepath.Join(root, "docs/surface.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ledger.Bytes(), committed) {
		t.Error("docs/surface.md is out of date: run 'make surface', and read what was added")
	}
}

func TestRead_findsEachKindOfName(t *testing.T) {
	columns, err := read(root)
	if err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string][]string{
		"Fields of an Echo":                {"spec.replicas", "spec.checks[].expect[].fact", "spec.affinity", "status.phase", "status.conditions[]"},
		"Flags":                            {"manager --max-replicas", "pathcheck --ca-file", "kubectl echo --all-namespaces", "echo-server --tls-dir", "must-gather --dest-dir"},
		"Environment variables":            {"MAX_REPLICAS", "ECHO_MAX_HEADER_BYTES", "POD_NAME", "SCORECARD_NAMESPACE"},
		"Controls of the echo server":      {"echo.status", "echo.early-hints"},
		"Headers of the echo server":       {"X-Echo-Applied", "Echo-Proof"},
		"Metrics":                          {"echo_http_requests_total", "echo_operator_leader"},
		"Alerts":                           {"EchoNotReady"},
		"Reasons of conditions and events": {"AllPodsReady", "ImagePullFailed", "DeleteRequested"},
		"Facts of pathcheck":               {"client.address", "body.max"},
		"Images":                           {"Dockerfile", "echoserver/Dockerfile"},
		"Modules":                          {"go.mod", "tools/cluster/go.mod"},
		"Targets of make":                  {"test", "e2e-olm"},
	} {
		i := slices.IndexFunc(columns, func(c column) bool { return c.title == title })
		if i < 0 {
			t.Errorf("there is no column %s", title)
			continue
		}
		for _, name := range want {
			if !slices.Contains(columns[i].names, name) {
				t.Errorf("%s lacks %s: it has %v", title, name, columns[i].names)
			}
		}
	}
}

func TestUndocumented_namesTheNameAndThePage(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "page.md"), []byte("`replicas` is a number"), 0o600); err != nil {
		t.Fatal(err)
	}
	columns := []column{
		{"Fields of an Echo", one("page.md"), []string{"spec.replicas", "spec.image"}},
		{"Alerts", one("missing.md"), []string{"EchoNotReady"}},
	}
	err := undocumented(folder, columns)
	for _, want := range []string{"spec.image is not documented in page.md", "missing.md"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "spec.replicas") {
		t.Errorf("the error names a field that is documented: %v", err)
	}
}
