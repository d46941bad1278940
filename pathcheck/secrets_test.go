package pathcheck

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// marker is part of all secrets in these tests, and must not occur in any output.
const marker = "hunter2"

// revealing returns a path that reveals a secret wherever it can: in requests to the Echo and in responses.
func revealing(name string) func(string) http.Handler {
	return func(address string) http.Handler {
		proxy := proxyTo(address, func(r *httputil.ProxyRequest) {
			secret := r.In.Header.Get(name)
			for _, each := range []string{"X-Copy", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-Ip", "Accept-Language", "Via",
				"X-Request-Id", "Traceparent", "User-Agent", "X_Pathcheck_Name", "X-Pathcheck-Bytes"} {
				r.Out.Header.Set(each, secret)
			}
			_, token, _ := strings.Cut(secret, " ")
			r.Out.Header.Set("X-Token", "token="+token)
			r.Out.Header.Set("X-Escaped", url.QueryEscape(secret))
			if !strings.Contains(r.Out.URL.RawQuery, "echo.") && r.Out.URL.RawQuery != "" {
				r.Out.URL.RawQuery += "&" + url.QueryEscape(secret)
			}
		})
		proxy.ModifyResponse = func(r *http.Response) error {
			secret := r.Request.Header.Get(name)
			for _, each := range []string{"Server", "X-Copy", "Set-Cookie", "Content-Encoding", "X-Content-Type-Options"} {
				r.Header.Set(each, secret)
			}
			return replacePod(r, secret)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.Contains(r.URL.RawQuery, "echo.delay"): // this request would take a long time
				http.Redirect(w, r, "/login?token="+url.QueryEscape(r.Header.Get(name)), http.StatusFound)
			case r.Method == "BREW":
				w.WriteHeader(http.StatusTeapot)
			default:
				proxy.ServeHTTP(w, r)
			}
		})
	}
}

// replacePod replaces the pod's name in a description.
func replacePod(r *http.Response, name string) error {
	if r.Header.Get("Content-Type") != "application/json" || r.StatusCode != http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	body = bytes.ReplaceAll(body, []byte(`"web-1"`), fmt.Appendf(nil, "%q", name))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return err
}

func secretHeaders() map[string]Header {
	return map[string]Header{
		"a token":        {Name: "Authorization", Value: "Bearer " + marker + "-" + marker},
		"a password":     {Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte("bob:"+marker+"-"+marker))},
		"cookies":        {Name: "Cookie", Value: "a=" + marker + "-aaaa; b=" + marker + "-bbbb"},
		"a key":          {Name: "X-Api-Key", Value: marker},
		"a long one":     {Name: "X-Assertion", Value: strings.Repeat(marker+"-", 100)},
		"escapes":        {Name: "X-Key", Value: marker + "-" + marker + `"\<&>"` + "\u00e9 %" + marker + "-" + marker},
		"a short token":  {Name: "Authorization", Value: "Bearer " + marker},
		"a short cookie": {Name: "Cookie", Value: "a=" + marker + "; b=1"},
	}
}

// TestRun_reportsHaveNoSecrets runs all groups on paths that send secrets back, and checks each output.
func TestRun_reportsHaveNoSecrets(t *testing.T) {
	address, _ := startEcho(t, "ECHO_CONTROLS=Full", "ECHO_REDACT_HEADERS=none")
	all, _ := GroupNames()
	for name, header := range secretHeaders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report := check(t, Options{URL: serve(t, revealing(header.Name)(address)), Groups: all, Headers: []Header{header},
				Expect: []Expectation{{"response.compression", "none"}, {"client.proto", "reported"}, {"request.method", "kept"}}})
			if report.Problem != "" || len(report.Facts) < 60 {
				t.Fatalf("the report is %+v", report)
			}
			expectNoSecrets(t, report)
		})
	}
}

// expectNoSecrets fails the test if a report contains a secret in any format.
func expectNoSecrets(t *testing.T, report *Report) {
	t.Helper()
	for format, write := range formats() {
		var b strings.Builder
		if err := write(report, &b); err != nil {
			b.WriteString(err.Error())
		}
		found := false
		for line := range strings.Lines(b.String()) {
			if strings.Contains(line, marker) || strings.Contains(line, base64.RawStdEncoding.EncodeToString([]byte("bob:" + marker))[:12]) {
				t.Errorf("%s: %s", format, line)
			}
			found = found || strings.Contains(line, hidden)
		}
		if !found && format != "expect" {
			t.Errorf("%s hides nothing, so nothing was sent back", format)
		}
	}
	if strings.Contains(string(report.Verdict()), marker) {
		t.Errorf("the verdict is %s", report.Verdict())
	}
}

// TestRun_problemsHaveNoSecrets checks the reports about servers that are not Echoes.
func TestRun_problemsHaveNoSecrets(t *testing.T) {
	for name, header := range secretHeaders() {
		report := check(t, Options{URL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			secret := r.Header.Get(header.Name)
			http.Redirect(w, r, "https://login.example/?plain="+secret+"&escaped="+url.QueryEscape(secret), http.StatusFound)
		})), Headers: []Header{header}})
		if !strings.Contains(report.Problem, "redirects to https://login.example/") {
			t.Errorf("%s: the problem is %s", name, report.Problem)
		}
		expectNoSecrets(t, report)
	}
}

// TestReport_hide checks each part of a report that can contain text from a server.
func TestReport_hide(t *testing.T) {
	const secret = marker + "-" + marker
	r := &Report{Problem: secret, Facts: []Fact{{Name: "a", Value: secret, Sent: secret, Received: secret}, {Name: "b", Value: "kept"}},
		NotTested: []NotTested{{Name: "c", Reason: secret}}, Expected: []Result{{Expectation{"a", "kept"}, secret, false}}}
	r.hide(newSecrets([]Header{{Name: "A", Value: secret}, {Name: "B", Value: "kept"}}))
	expectNoSecrets(t, r)
	if r.Facts[1].Value != "kept" {
		t.Errorf("a value of this program is hidden: %v", r.Facts[1])
	}
}

func TestSecrets_hide(t *testing.T) {
	long, short := strings.Repeat("0123456789", 60), "4711"
	s := newSecrets([]Header{{Name: "A", Value: "Bearer " + long}, {Name: "B", Value: short}, {Name: "C", Value: "1"}})
	for text, want := range map[string]string{
		"a " + long + " b":              "a [hidden] b",
		"a=" + long + long:              "a=[hidden][hidden]",
		"a " + long[:300] + "...":       "a [hidden]...",
		long[:25] + "#123456":           "[hidden]#123456",
		"Bearer " + long:                "[hidden]",
		"4711":                          "[hidden]",
		"pin 4711; 14711, 4711a, -4711": "pin [hidden]; 14711, 4711a, -[hidden]",
		"47114711":                      "47114711",
		"HTTP/1.1, 1 request":           "HTTP/1.1, 1 request",
		"012 of 4":                      "012 of 4",
	} {
		if got := s.hide(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := newSecrets(nil).hide("a"); got != "a" {
		t.Errorf("without secrets: %q", got)
	}
}
