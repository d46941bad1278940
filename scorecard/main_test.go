package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestMainPrintsAResult checks that nothing but a result is printed, even of a test that cannot run: scorecard reads all of it.
func TestMainPrintsAResult(t *testing.T) {
	if _, err := os.Stat("/bundle"); err == nil {
		t.Skip("there is a bundle in /bundle")
	}
	for arguments, want := range map[string]string{"echo-scorecard descriptors": "descriptors", "echo-scorecard": "", "echo-scorecard examples permissions": ""} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		stdout, given := os.Stdout, os.Args
		os.Stdout, os.Args = out, strings.Fields(arguments)
		main()
		os.Stdout, os.Args = stdout, given
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		var printed status
		if err := json.Unmarshal(text, &printed); err != nil || len(printed.Results) != 1 {
			t.Fatalf("%s: printed %q, %v, want one result", arguments, text, err)
		}
		r := printed.Results[0]
		if r.Name != want || r.State != "error" || len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "/bundle") {
			t.Errorf("%s: the result is %+v, want an error of the test %q that there is no bundle", arguments, r, want)
		}
	}
}

// TestUnknownTestsAreTold checks that the error names the tests, for those who mistype one in the configuration of scorecard.
func TestUnknownTestsAreTold(t *testing.T) {
	for _, name := range []string{"", "Examples", "example"} {
		problems, err := newWorld(t).run(t.Context(), name, ownBundle(t))
		if err == nil || len(problems) > 0 {
			t.Fatalf("%q: the problems are %q, %v", name, problems, err)
		}
		for _, known := range []string{`"` + name + `"`, "descriptors", "examples", "permissions", "restricted"} {
			if !strings.Contains(err.Error(), known) {
				t.Errorf("%q: %v, want %s", name, err, known)
			}
		}
	}
}

func TestRun(t *testing.T) {
	for folder, want := range map[string]string{"../bundle": "pass", "nowhere": "error"} {
		if got := run(t.Context(), "descriptors", folder, ""); got.State != want || got.Name != "descriptors" {
			t.Errorf("with the bundle %s: %+v, want %s", folder, got, want)
		}
	}
}

func TestRunTellsWhyThereIsNoCluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for name, c := range map[string]struct{ namespace, want string }{
		"without a namespace": {"", "SCORECARD_NAMESPACE is not set"},
		"outside of a pod":    {"echo-scorecard", rest.ErrNotInCluster.Error()},
	} {
		got := run(t.Context(), "restricted", "../bundle", c.namespace)
		if got.Name != "restricted" || got.State != "error" || len(got.Errors) != 1 || !strings.Contains(got.Errors[0], c.want) {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
	}
}

// TestNewCluster checks that the client does not slow a test down, and that warnings do not get into its result.
func TestNewCluster(t *testing.T) {
	config := &rest.Config{Host: "http://127.0.0.1:1", BearerToken: "secret", QPS: 5}
	c, err := newCluster(config, "echoes", time.Minute, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if c.token != "secret" || c.namespace != "echoes" || c.patience != time.Minute || c.period != time.Second {
		t.Errorf("the cluster is %+v", c)
	}
	if _, silent := config.WarningHandler.(rest.NoWarnings); !silent || config.QPS != -1 {
		t.Errorf("the handler of warnings is %T, and %v requests a second are allowed", config.WarningHandler, config.QPS)
	}
	if _, err := c.GroupVersionKindFor(plainEcho("echoes")); err != nil {
		t.Errorf("the client does not know an Echo: %v", err)
	}
	if _, err := newCluster(&rest.Config{Host: "://"}, "echoes", time.Minute, time.Second); err == nil {
		t.Error("a cluster without a valid address was taken")
	}
}
