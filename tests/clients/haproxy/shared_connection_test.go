// Package haproxy tests the echo server behind HAProxy, which uses the same HTTP/2 connection for all of its clients.
package haproxy

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/tests/clients"
)

//go:embed haproxy.cfg
var configuration string

// limit is the default maximum size of request headers, in bytes.
const limit = 32 << 10

// TestLargeHeadersOfOneClient sends concurrent requests from eight clients. One client sends requests with a large cookie or a long path.
// These requests must not affect the other clients' requests.
func TestLargeHeadersOfOneClient(t *testing.T) {
	url := startGateway(t, clients.Start(t))
	for name, c := range map[string]struct {
		path   string
		cookie int // length of the cookie in bytes
		status int
	}{
		"a cookie of 17,500 bytes":        {"/", 17_500, http.StatusOK},
		"a cookie of 3.6 times the limit": {"/", limit * 36 / 10, http.StatusRequestHeaderFieldsTooLarge},
		"a path of 9,000 bytes":           {"/" + strings.Repeat("p", 8_999), 0, http.StatusRequestURITooLong},
	} {
		t.Run(name, func(t *testing.T) {
			var others sync.WaitGroup
			peers := make([]string, 7)
			for i := range peers {
				others.Go(func() { peers[i] = waitingRequest(t, url) })
			}
			for range 10 {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+c.path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Cookie", strings.Repeat("c", c.cookie))
				if got := send(t, r); got.status != c.status {
					t.Errorf("the response is %d, want %d", got.status, c.status)
				}
			}
			others.Wait()
			for _, peer := range peers {
				if peer != peers[0] || peer == "" {
					t.Errorf("the requests of the other clients arrived over the connections %q", peers)
				}
			}
		})
	}
}

// waitingRequest sends a request to which the echo server responds after half a second. It returns the remote address that the server saw.
func waitingRequest(t *testing.T, url string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/waiting?echo.delay=500ms", http.NoBody)
	if err != nil {
		t.Error(err)
		return ""
	}
	got := send(t, r)
	if got.status != http.StatusOK || got.Path != "/waiting?echo.delay=500ms" {
		t.Errorf("another client gets %+v", got)
	}
	return got.Client.RemoteAddress
}

// echo contains the parts of a response that the test reads.
type echo struct {
	status int
	Path   string
	Client struct{ RemoteAddress string }
}

// send sends a request over a new connection.
func send(t *testing.T, r *http.Request) echo {
	t.Helper()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return echo{}
	}
	defer func() { _ = response.Body.Close() }()
	got := echo{status: response.StatusCode}
	if got.status == http.StatusOK {
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
			t.Error(err)
		}
	}
	return got
}

// startGateway starts HAProxy in front of an upstream server, and returns HAProxy's URL. HAProxy stops after the test.
func startGateway(t *testing.T, upstream string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(strings.Replace(configuration, "UPSTREAM", upstream, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return clients.StartGateway(t, exec.CommandContext(t.Context(), "haproxy", "-db", "-f", file), clients.Listen(t))
}
