package pathcheck

import (
	"bytes"
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/verdict"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// forwardProxy returns a proxy that connects each tunnel to an address, and refuses all else. It requires user u with password s/cret.
func forwardProxy(t *testing.T, address string) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodConnect || !strings.HasPrefix(r.RequestURI, "shop.example.com:"):
			t.Errorf("the proxy receives %s %s", r.Method, r.RequestURI)
		case r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("u:s/cret")):
			w.WriteHeader(http.StatusProxyAuthRequired)
		default:
			w.WriteHeader(http.StatusOK)
			c, buffered, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			pipe(struct {
				io.Reader
				io.Writer
			}{buffered, c}, address) // the server may have read the first byte of the tunnel
			_ = c.Close() // the client may have closed it
		}
	}))
	server.Config.ErrorLog = quiet
	t.Cleanup(server.Close)
	return server
}

// TestRun_forwardProxy checks that a run through a forward proxy finds the facts of a run without it, except those about addresses, and
// that its reports name the proxy, but not its user.
func TestRun_forwardProxy(t *testing.T) {
	folder := t.TempDir()
	authority := writeCertificate(t, folder)
	address, secure := startEcho(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+folder)
	plain, encrypted := forwardProxy(t, address), forwardProxy(t, secure)
	plain.Start()
	encrypted.StartTLS()
	both := slices.Concat(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: encrypted.Certificate().Raw}))
	for scheme, c := range map[string]struct {
		direct, proxy string
		ca            []byte
	}{"http": {address, plain.URL, nil}, "https": {secure, encrypted.URL, both}} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			direct := check(t, Options{URL: scheme + "://" + c.direct, CA: c.ca})
			report := check(t, Options{URL: scheme + "://shop.example.com", CA: c.ca, Proxy: withUser(t, c.proxy)})
			through := "through the proxy " + strings.TrimPrefix(c.proxy, scheme+"://")
			for _, f := range direct.Facts {
				if got := report.fact(f.Name); !f.Detail && !strings.HasPrefix(f.Name, "client.address") && (got == nil || got.Value != f.Value) {
					t.Errorf("%s is %+v because %q, and %+v without the proxy", f.Name, got, report.whyUnknown(f.Name), f)
				}
			}
			for _, name := range []string{"client.address", "client.address.by", "path.addresses"} {
				if reason := report.whyUnknown(name); report.fact(name) != nil || reason != through {
					t.Errorf("%s is %v, and unknown because %q", name, report.fact(name), reason)
				}
			}
			for name, write := range formats() {
				var b bytes.Buffer
				if err := write(report, &b); err != nil || strings.Contains(b.String(), "cret") || name == "text" && !strings.Contains(b.String(), through) {
					t.Errorf("%s: %v\n%s", name, err, b.String())
				}
			}
		})
	}
}

// withUser returns the URL of a proxy with the user that it requires.
func withUser(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("u", "s/cret")
	return u
}

// TestRun_withoutTunnel checks what a report contains if the forward proxy gives no tunnel.
func TestRun_withoutTunnel(t *testing.T) {
	refusing := func(status int) string {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	}
	untrusted := forwardProxy(t, "")
	untrusted.StartTLS()
	silent := echotest.Silent(t)
	for proxy, want := range map[string]string{
		refusing(403): "the proxy refuses CONNECT with 403 Forbidden: use an https URL with port 443, NO_PROXY, or another user of the proxy",
		untrusted.URL: "specify its certificate authority with --ca-file",
		silent:        "i/o timeout",
	} {
		deadline := time.Minute
		if proxy == silent {
			deadline = 2 * time.Second
		}
		report := check(t, Options{URL: "http://shop.example.com", Proxy: withUser(t, proxy), Deadline: deadline})
		_, address, _ := strings.Cut(proxy, "://")
		if !strings.HasPrefix(report.Problem, "no response from shop.example.com:80 through the proxy "+address+": ") ||
			!strings.HasSuffix(report.Problem, want) {
			t.Errorf("the problem is %q, want %q", report.Problem, want)
		}
		if v, err := verdict.Decode(string(report.Verdict())); err != nil || (v.Silent == verdict.SilentURL) != (proxy == silent) ||
			proxy == silent && v.Address != address {
			t.Errorf("%v: the verdict is %+v", err, v)
		}
	}
}

// TestCommand_forwardProxy checks which variables set the forward proxy, and that errors do not contain its user.
func TestCommand_forwardProxy(t *testing.T) {
	for name, c := range map[string]struct{ variable, value, url, address, want string }{
		"https":             {"HTTPS_PROXY", "http://u:secret@proxy.example:3128", "https://shop.example.com", "", "http://u:secret@proxy.example:3128"},
		"another scheme":    {"HTTPS_PROXY", "http://proxy.example:3128", "http://shop.example.com", "", ""},
		"without a scheme":  {"http_proxy", "proxy.example:3128", "http://shop.example.com", "", "http://proxy.example:3128"},
		"NO_PROXY":          {"HTTP_PROXY", "http://proxy.example:3128", "http://shop.internal.example", "", ""},
		"an address":        {"HTTP_PROXY", "http://proxy.example:3128", "http://shop.example.com", "192.0.2.1", ""},
		"SOCKS":             {"HTTP_PROXY", "socks5://u:secret@proxy.example:1080", "http://shop.example.com", "", "invalid"},
		"a wrong escape":    {"HTTPS_PROXY", "http://u:1%secret@proxy.example", "http://shop.example.com", "", "invalid"},
		"an open password":  {"HTTP_PROXY", "http://u:1/secret@proxy.example", "http://shop.example.com", "", "invalid"},
		"an open password2": {"HTTP_PROXY", "http://u:1#secret@proxy.example", "http://shop.example.com", "", "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, each := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "no_proxy"} {
				t.Setenv(each, "")
			}
			t.Setenv("NO_PROXY", ".internal.example")
			t.Setenv(c.variable, c.value)
			o, err := (&Command{address: c.address, output: "text", deadline: time.Second}).options(c.url, "dev")
			if c.want == "invalid" {
				if err == nil {
					_, err = Run(t.Context(), o)
				}
				if err == nil || !strings.Contains(err.Error(), "the forward proxy must be") || strings.Contains(err.Error(), "secret") {
					t.Errorf("the error is %v", err)
				}
			} else if err != nil || o.Proxy == nil && c.want != "" || o.Proxy != nil && o.Proxy.String() != c.want {
				t.Errorf("%v: the proxy is not %q", err, c.want)
			}
		})
	}
}
