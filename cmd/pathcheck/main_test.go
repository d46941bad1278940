package main

import (
	"context"
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

func TestRun_rejectsInvalidCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "one URL is required",
		"--unknown http://a":                 "unknown flag: --unknown",
		"--output=xml http://a":              `--output: "xml" is not text, json, html, or expect`,
		"--expect=client.adress=a http://a":  `"--expect" flag: there is no fact "client.adress": the documentation lists the facts, such as client`,
		"--expect=a[b]=c http://a":           `"--expect" flag: there is no fact "a[b]": the documentation lists`,
		"--groups=a http://a":                `--groups: unknown group "a": the groups are request, client, tls`,
		"--name=web http://a":                `--name: "web" is not NAMESPACE/NAME`,
		"--expect=a http://a":                "is not an expectation such as client.address=kept",
		"--deadline=0s http://a":             "--deadline: 0s must be longer than 0s",
		"--source=x http://a":                "--source: ",
		"--ca-file=/nowhere http://a":        "--ca-file: open /nowhere",
		"--ca-file=main.go http://127.0.0.1": "--ca-file: main.go: it contains no PEM certificate",
		"http://a:65536":                     `"http://a:65536" is not a URL such as`,
		"--own-service=x http://a":           `--own-service: "x" has no scheme: write http://x or https://x`,
		"ftp://a":                            `"ftp://a" is not a URL such as`,
		"https://hunter2:hunter2@a/":         `"https://[hidden]@a/" is not a URL such as`,
		"https://a/?token=hunter2":           `"https://a/?[hidden]" is not a URL such as`,
		"--own-service=https://hunter2:hunter2@a:x/b http://a":  `--own-service: "https://[hidden]@a:x/b" is not a URL such as`,
		"--address=https://hunter2:hunter2@a/?hunter2 http://a": `--address: "https://[hidden]@a/" is not the address`,
		"a.example:8080":                        `"a.example:8080" has no scheme: write http://a.example:8080 or https://a.example:8080`,
		"10.0.0.1:80/shop --groups=body":        `"10.0.0.1:80/shop" has no scheme: write http://10.0.0.1:80/shop or`,
		"[::1]:80":                              `"[::1]:80" has no scheme: write http://[::1]:80 or`,
		"-H X-Key:hunter2 -H hunter2 http://a":  "--header: number 2 is not a header such as 'X-Api-Key: value', in quotes",
		"--header X-Key: http://a":              "--header: number 1 is not a header",
		"http://a --header Host:hunter2":        "--header: number 1 is Host, which pathcheck sets itself",
		"http://a -H sec-websocket-key:hunter2": "is Sec-Websocket-Key, which pathcheck sets itself",
		"--header-file=/nowhere http://a":       "--header-file: open /nowhere",
		"--header-file=main.go http://a":        "--header-file: line 1 is not a header",
		"--cert=main.go http://a":               "--cert: tls: failed to find any PEM data",
		"--key=main.go http://a":                "--key: this flag requires --cert",
	} {
		code, stdout, stderr := execute(t, strings.Fields(line)...)
		if strings.Contains(stderr, "hunter2") {
			t.Errorf("%s: the error contains a secret: %s", line, stderr)
		}
		said := strings.TrimPrefix(stderr, "Usage: pathcheck [flags] URL\n")
		if code != 2 || stdout != "" || !strings.Contains(said, want) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: the exit code is %d, and it printed %q and %q", line, code, stdout, stderr)
		}
	}
	if code, stdout, _ := execute(t, "--help"); code != 0 || !strings.Contains(stdout, "-expect") {
		t.Errorf("--help exits with %d, and prints %s", code, stdout)
	}
}

func TestRun_reportsForeignServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	t.Cleanup(server.Close)
	for _, output := range []string{"text", "json", "html", "expect"} {
		code, stdout, stderr := execute(t, "--output="+output, server.URL)
		if code != 1 || stderr != "" || !strings.Contains(stdout, "does not prove that it comes from an Echo") {
			t.Errorf("%s: the exit code is %d, and it printed %q and %q", output, code, stdout, stderr)
		}
	}
	file := filepath.Join(t.TempDir(), "verdict")
	if code, _, _ := execute(t, "--verdict-file="+file, server.URL); code != 0 {
		t.Errorf("with a verdict the exit code is %d", code)
	}
	if verdict, err := os.ReadFile(file); err != nil || !strings.Contains(string(verdict), `"problem":"the response with status 200 does not prove`) {
		t.Errorf("the verdict is %s, %v", verdict, err)
	}
	if code, _, stderr := execute(t, "--verdict-file=/nowhere/verdict", server.URL); code != 2 || stderr == "" {
		t.Errorf("if the verdict cannot be written, the exit code is %d, %s", code, stderr)
	}
}

// TestRun_reportsInterruption interrupts runs before the first response. An expectation is then not met either.
func TestRun_reportsInterruption(t *testing.T) {
	for _, line := range []string{"", "--expect=client.address=kept", "--output=json", "--output=expect", "--verdict-file=" + t.TempDir() + "/v"} {
		ctx, interrupt := context.WithCancel(t.Context())
		server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			interrupt()
			<-r.Context().Done()
		}))
		t.Cleanup(server.Close)
		var stdout, stderr strings.Builder
		code := run(ctx, append(strings.Fields(line), server.URL), &stdout, &stderr)
		if code != 2 || stdout.Len() == 0 || stderr.String() != "pathcheck: interrupted; the output is incomplete\n" {
			t.Errorf("%s: the exit code is %d, and it printed %q and %q", line, code, stdout.String(), stderr.String())
		}
	}
}
