package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestHandler_logsRequestsExceptProbes(t *testing.T) {
	h, log := loggedHandler(t)
	for _, path := range []string{"/-/livez", "/-/readyz"} {
		echotest.Record(h, path)
	}
	if got := log.String(); got != "" {
		t.Errorf("probes are logged: %s", got)
	}
	echotest.Record(h, "/a%0ab?token=hunter2&echo.status=418", "X-Request-Id", "id-7", "Authorization", "Bearer hunter2")
	var line map[string]any
	if err := json.Unmarshal([]byte(log.String()), &line); err != nil {
		t.Fatalf("%v in %s", err, log)
	}
	for key, want := range map[string]any{"msg": "request", "level": "INFO", "id": "id-7", "method": "GET", "host": "example.com",
		"path": "/a%0ab", "proto": "HTTP/1.1",
		"status": 418.0, "remote": "192.0.2.1:1234"} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
	if strings.Contains(log.String(), "hunter2") || strings.Count(log.String(), "\n") != 1 || line["bytes"].(float64) < 100 ||
		line["nanoseconds"].(float64) <= 0 {
		t.Errorf("the line is %s", log)
	}
	before := len(log.String())
	echotest.Record(h, "/"+strings.Repeat("x", 60_000))
	if length := len(log.String()) - before; length > 2*exchange.MaxLogged {
		t.Errorf("a line has %d bytes", length)
	}
}

// TestHandler_logsPathAsReceived checks that the log contains paths as they were received, without queries or passwords.
func TestHandler_logsPathAsReceived(t *testing.T) {
	h, log := loggedHandler(t)
	url := serve(t, h).URL
	for target, want := range map[string]string{
		"/a%2Fb":                           "/a%2Fb",
		"/a%2fb?k=hunter2":                 "/a%2fb",
		"/%61%0a%1b":                       "/%61%0a%1b",
		"/a/../b//c/./d":                   "/a/../b//c/./d",
		"/caf\xc3\xa9":                     "/caf\u00e9",
		"/caf\xe9":                         `/caf\xe9`,
		"/\xc2\x9b2J":                      `/\u009b2J`,
		"/+;a=b":                           "/+;a=b",
		"http://u:hunter2@a/b%2Fc?hunter2": "/b%2Fc",
		"http://u:hunter2@a?hunter2":       "",
		"hunter2:a":                        "",
	} {
		before := len(log.String())
		got := echotest.Exchanged(t, echotest.Dial(t, url), "GET "+target+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		checkLoggedPath(t, target, log.String()[before:], want)
		if !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("%s: the response is %q", target, got)
		}
	}
	for target, want := range map[string]string{"/a%2Fb?hunter2": "/a%2Fb", "/%61\u009b2J": `/%61\u009b2J`, "*": "*"} {
		before := len(log.String())
		conn := echotest.Dial(t, url)
		framer, err := greet(conn, complete)
		if err != nil {
			t.Fatal(err)
		}
		method := http.MethodGet
		if target == "*" {
			method = http.MethodOptions
		}
		writeRequest(t, framer, 1, headerBlockTo("a\u202e", method, target))
		statuses(t, framer, 1)
		echotest.Until(t, "it is logged", func() bool { return len(log.String()) > before })
		checkLoggedPath(t, target, log.String()[before:], want)
		if !strings.Contains(log.String()[before:], `"host":"a\\u202e"`) {
			t.Errorf("the host is shown unchanged: %s", log.String()[before:])
		}
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("a secret is logged: %s", log)
	}
}

func checkLoggedPath(t *testing.T, target, logged, want string) {
	t.Helper()
	var line struct{ Path *string }
	if err := json.Unmarshal([]byte(logged), &line); err != nil || line.Path == nil || *line.Path != want {
		t.Errorf("%q: the line is %s, %v, want %q", target, logged, err, want)
	}
}

// TestRun_awaitsCertificates checks how long the server waits for a Secret.
func TestRun_awaitsCertificates(t *testing.T) {
	good := echotest.SecretKeys(echotest.NewAuthority(t, "a").Issue(t, "first"), "")
	other := echotest.NewAuthority(t, "b").Issue(t, "other")
	for name, c := range map[string]struct {
		first  map[string]string
		after  time.Duration // how long until there is a valid pair
		want   string
		atMost time.Duration
	}{
		"at once":       {good, time.Hour, "", 0},
		"after a while": {nil, 9 * time.Second, "", 10 * time.Second},
		"never": {nil, time.Hour, `TLS: Secret "web-tls": key tls.crt is missing`,
			10 * time.Second},
		"a bad pair": {echotest.SecretKeys(echotest.Issued{Certificate: good["tls.crt"], Key: other.Key}, ""), time.Hour,
			`TLS: Secret "web-tls": keys tls.crt and tls.key do not match`, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			volume := echotest.NewSecretVolume(t, c.first)
			update := time.AfterFunc(c.after, func() { volume.Update(t, good) })
			defer update.Stop()
			began := time.Now()
			// Run cannot listen on this HTTP address. It must not try before it has a certificate, so an error about the certificate comes first.
			s := settingsOf(t, "ECHO_TLS_ADDR=:0", "ECHO_TLS_DIR="+volume.Folder, "ECHO_TLS_SECRET=web-tls", "ECHO_HTTP_ADDR=192.0.2.1:1")
			err := Run(t.Context(), s, "dev", echotest.Quiet())
			if took := time.Since(began); took > c.atMost || c.want != "" && took < c.atMost {
				t.Errorf("%s: it took %s", name, took)
			}
			if c.want == "" && !strings.HasPrefix(err.Error(), "cannot listen: ") || c.want != "" && err.Error() != c.want {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
		})
	}
}
