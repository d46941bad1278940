package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/fences"
)

// documented returns the commands in the first fence after the given words on a page.
func documented(t *testing.T, page, words string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	found := fences.After(string(text), words)
	if len(found) == 0 {
		t.Fatalf("%s has no commands after %q", page, words)
	}
	return found[0].Text
}

// TestMain_pathcheckWritesMetricAsDocumented runs the documented cron job with an echo server instead of an Echo. The job must write a
// metric with the result, even if pathcheck exits with an error.
func TestMain_pathcheckWritesMetricAsDocumented(t *testing.T) {
	job := documented(t, "docs/how-to/monitor.md", "To check a path from outside the cluster")
	for _, part := range []string{"https://shop.example.com", "client.address=kept", "/var/lib/node_exporter"} {
		if !strings.Contains(job, part) {
			t.Fatalf("%q is not in the job:\n%s", part, job)
		}
	}
	programs := filepath.Dir(build(t)[0])
	_, addresses := startEchoServer(t, filepath.Join(programs, "echo-server"))
	for name, test := range map[string]struct{ url, expect, want string }{
		"met":     {"http://" + addresses["address"], "client.address=kept", "path_met 1\n"},
		"not met": {"http://" + addresses["address"], "request.method=changed", "path_met 0\n"},
		"no Echo": {"http://" + addresses["admin"], "client.address=kept", "path_met 0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			command := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer("https://shop.example.com", test.url,
				"client.address=kept", test.expect, "/var/lib/node_exporter", folder).Replace(job))
			command.Env = []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "HOME=" + folder}
			output, err := command.CombinedOutput()
			got, _ := os.ReadFile(filepath.Join(folder, "path.prom"))
			if err != nil || string(got) != test.want {
				t.Errorf("%v, the file contains %q, want %q; output:\n%s", err, got, test.want, output)
			}
		})
	}
}
