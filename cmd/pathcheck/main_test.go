package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func execute(t *testing.T, arguments ...string) (code int, stdout, stderr string) {
	t.Helper()
	out, err := &strings.Builder{}, &strings.Builder{}
	code = run(t.Context(), arguments, out, err)
	return code, out.String(), err.String()
}

func TestCommandLinesThatAreNotValid(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "it requires one URL",
		"http://a http://b":                  "it requires one URL",
		"--unknown http://a":                 "unknown flag: --unknown",
		"--output=xml http://a":              `--output: "xml" is not text, json, html or expect`,
		"--groups=a http://a":                `unknown group "a": the groups are request, client, tls`,
		"--name=web http://a":                `--name: "web" is not NAMESPACE/NAME`,
		"--expect=a http://a":                "is not an expectation such as client.address=kept",
		"--deadline=0s http://a":             "--deadline: 0s is not longer than 0s",
		"--source=x http://a":                "--source: ",
		"--ca-file=/nowhere http://a":        "--ca-file: open /nowhere",
		"--ca-file=main.go http://127.0.0.1": "the file of certificates has no certificate in PEM",
		"--direct=x http://a":                `"x" is not a URL`,
		"ftp://a":                            `"ftp://a" is not a URL such as`,
	} {
		code, stdout, stderr := execute(t, strings.Fields(line)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: the exit code is %d, and it printed %q and %q", line, code, stdout, stderr)
		}
	}
	if code, stdout, _ := execute(t, "--help"); code != 0 || !strings.Contains(stdout, "-expect") {
		t.Errorf("the help is %d, %s", code, stdout)
	}
}

// TestNoEcho sends a request to a server that is no Echo.
func TestNoEcho(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	t.Cleanup(server.Close)
	for _, output := range []string{"text", "json", "html"} {
		code, stdout, stderr := execute(t, "--output="+output, server.URL)
		if code != 1 || stderr != "" || !strings.Contains(stdout, "does not prove that it comes from an Echo") {
			t.Errorf("%s: the exit code is %d, and it printed %q and %q", output, code, stdout, stderr)
		}
	}
	file := filepath.Join(t.TempDir(), "verdict")
	if code, _, _ := execute(t, "--verdict-file="+file, server.URL); code != 0 {
		t.Errorf("with a verdict the exit code is %d", code)
	}
	if verdict, err := os.ReadFile(file); err != nil || !strings.Contains(string(verdict), `"problem":"the response 200 does not prove`) {
		t.Errorf("the verdict is %s, %v", verdict, err)
	}
	if code, _, stderr := execute(t, "--verdict-file=/nowhere/verdict", server.URL); code != 2 || stderr == "" {
		t.Errorf("without a place for the verdict the exit code is %d, %s", code, stderr)
	}
}
