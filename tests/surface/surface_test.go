package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the root directory of the repository.
const root = "../.."

func TestRun_isCommitted(t *testing.T) {
	var ledger bytes.Buffer
	if err := run(t.Context(), &ledger, root); err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(filepath.Join(root, "docs/reference/surface.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(ledger.Bytes(), committed) {
		t.Error("docs/reference/surface.md is out of date: run 'make surface', and read what was added")
	}
}

func TestRead_findsEachKindOfName(t *testing.T) {
	columns, err := read(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	for title, want := range map[string][]string{
		"Fields of an Echo": {"spec.replicas", "spec.checks[].expect[].fact", "spec.affinity", "status.phase",
			"status.conditions[]"},
		"Flags": {"manager --max-replicas", "pathcheck --ca-file", "kubectl echo --all-namespaces",
			"echo-server --tls-dir", "must-gather --dest-dir"},
		"Environment variables":            {"MAX_REPLICAS", "ECHO_MAX_HEADER_BYTES", "POD_NAME", "SCORECARD_NAMESPACE"},
		"Controls of the echo server":      {"echo.status", "echo.early-hints"},
		"Headers of the echo server":       {"X-Echo-Applied", "Echo-Proof"},
		"Metrics":                          {"echo_http_requests_total", "echo_operator_leader"},
		"Alerts":                           {"EchoNotReady"},
		"Reasons of conditions and events": {"AllPodsReady", "ImagePullFailed", "DeleteRequested"},
		"Facts of pathcheck":               {"client.address", "body.max"},
		"Images":                           {"echo-operator", "echo-operator-must-gather"},
		"Values of the chart":              {"replicas", "crds.keep"},
		"Modules":                          {"go.mod", "tools/cluster/go.mod"},
		"Targets of make":                  {"test", "e2e-olm"},
	} {
		i := slices.IndexFunc(columns, func(c column) bool { return c.title == title })
		if i < 0 {
			t.Errorf("there is no column %s", title)
			continue
		}
		for _, each := range want {
			if !slices.ContainsFunc(columns[i].names, func(n name) bool { return n.text == each }) {
				t.Errorf("%s lacks %s: it has %v", title, each, columns[i].names)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "page.md"), []byte("`replicas` is a number"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (name{"spec.replicas", "page.md", "`replicas`"}).check(folder); err != nil {
		t.Errorf("a field that is documented: %v", err)
	}
	if err := (name{"spec.image", "page.md", "`image`"}).check(folder); err == nil ||
		!strings.Contains(err.Error(), "spec.image is not documented in page.md") {
		t.Errorf("a field that is not documented: %v", err)
	}
	if err := (name{"EchoNotReady", "missing.md", "EchoNotReady"}).check(folder); err == nil || !strings.Contains(err.Error(), "missing.md") {
		t.Errorf("a page that does not exist: %v", err)
	}
}

func TestRead_needsACheckout(t *testing.T) {
	folder := t.TempDir()
	_, err := rule{files: "*.go"}.read(t.Context(), folder)
	if err == nil || !strings.Contains(err.Error(), folder+" must be a checkout of git: fatal: not a git repository") {
		t.Errorf("the error is %v", err)
	}
}
