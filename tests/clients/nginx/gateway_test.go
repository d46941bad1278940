// Package nginx tests the echo server behind a caching nginx. Untrusted clients must not be able to control the responses to other clients.
package nginx

import (
	_ "embed"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/tests/clients"
)

// secret is the content of a file that nginx serves only if a response from a backend names the file.
const secret = "the secret of the gateway"

//go:embed nginx.conf
var configuration string

// gateway is nginx in front of an echo server.
type gateway struct {
	url    string
	client *http.Client
}

// startGateway starts nginx, and an echo server with additional environment variables. Both servers stop after the test.
func startGateway(t *testing.T, environ ...string) *gateway {
	t.Helper()
	listener := clients.Listen(t)
	folder := t.TempDir()
	text := strings.NewReplacer("LISTEN", listener.Addr().String(), "UPSTREAM", clients.Start(t, environ...)).Replace(configuration)
	if err := os.Mkdir(filepath.Join(folder, "internal"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"nginx.conf": text, "internal/secret": secret} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program := exec.CommandContext(t.Context(), "nginx", "-e", "stderr", "-p", folder, "-c", "nginx.conf")
	program.Env = append(os.Environ(), "NGINX=3;")                                   // the file descriptor of the listener
	program.Cancel = func() error { return program.Process.Signal(syscall.SIGTERM) } // SIGKILL would leave the worker processes running
	client := &http.Client{
		Timeout:       time.Minute,
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &gateway{url: clients.StartGateway(t, program, listener), client: client}
}

// answer is a response with the received part of its body.
type answer struct {
	*http.Response
	body string
}

// send sends a request. The headers are alternating names and values.
func (g *gateway) send(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := g.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, _ := io.ReadAll(response.Body) // attacks can request a truncated response
	return answer{response, string(content)}
}

// pathOf returns a path that no other test case uses.
func pathOf(name string) string { return "/" + strings.NewReplacer(" ", "-", ",", "").Replace(name) }
