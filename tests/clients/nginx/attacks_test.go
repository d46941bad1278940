package nginx

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// attack is a request that tries to control how nginx or a browser handles the response for the attacker or for other clients.
type attack struct {
	status string
	// headers are the headers that the response to the attacker must not contain.
	headers []string
}

// attacks returns the attacks that the echo server must resist by default.
func attacks() map[string]attack {
	const forever = "Cache-Control: public, max-age=600"
	return map[string]attack{
		"a redirect to another site":            {"301", []string{"Location: https://attacker.example/"}},
		"a redirect to another site, stored":    {"301", []string{"Location: https://attacker.example/", forever}},
		"a redirect without a scheme, stored":   {"302", []string{"Location: //attacker.example/", forever}},
		"a redirect with a backslash, stored":   {"302", []string{`Location: /\attacker.example/`, forever}},
		"an echo, stored":                       {"200", []string{forever}},
		"an error, stored":                      {"503", []string{forever}},
		"an error, stored by a CDN":             {"503", []string{"Surrogate-Control: max-age=600", "CDN-Cache-Control: max-age=600"}},
		"a variant":                             {"200", []string{"Vary: X-None", forever}},
		"a login prompt":                        {"401", []string{"WWW-Authenticate: Basic realm=Intranet"}},
		"a cookie, stored":                      {"200", []string{"Set-Cookie: session=attacker", forever}},
		"a file of nginx":                       {"200", []string{"X-Accel-Redirect: /internal/secret"}},
		"a file of another proxy":               {"200", []string{"X-Sendfile: /etc/passwd"}},
		"the time limit of Envoy":               {"200", []string{"X-Envoy-Upstream-Rq-Timeout-Ms: 1"}},
		"a header that belongs to a connection": {"200", []string{"Keep-Alive: timeout=600"}},
	}
}

// byHeader returns the attack as headers, and byLink returns it as a query string.
func (a attack) byHeader() []string {
	return []string{"X-Echo-Status", a.status, "X-Echo-Set-Header", strings.Join(a.headers, ", ")}
}

func (a attack) byLink() string {
	return "?" + url.Values{"echo.status": {a.status}, "echo.set-header": a.headers}.Encode()
}

// TestAttacks sends each attack in headers and as a link. Each attack is the first request for its path. Then another client requests it.
func TestAttacks(t *testing.T) {
	g := startGateway(t)
	untouched := g.send(t, "/untouched")
	expectEcho(t, untouched, "/untouched")
	for name, a := range attacks() {
		t.Run(name, func(t *testing.T) {
			for _, way := range []string{"by header", "by link"} {
				path := pathOf(name + " " + way)
				query, headers := "", a.byHeader()
				if way == "by link" {
					query, headers = a.byLink(), nil
				}
				a.expectFailure(t, way, g.send(t, path+query, headers...))
				other := g.send(t, path)
				expectEcho(t, other, path)
				expectSameHeaders(t, other.Header, untouched.Header)
			}
		})
	}
}

// TestFailures sends requests that try to break the connection between nginx and the echo server. If the connection failed, nginx would
// mark both pods as failed for all paths, and cache its own error.
func TestFailures(t *testing.T) {
	for _, query := range []string{"?echo.connection=reset", "?echo.connection=truncate"} {
		t.Run(query, func(t *testing.T) {
			g := startGateway(t)
			control, value, _ := strings.Cut(strings.TrimPrefix(query, "?echo."), "=")
			g.send(t, "/by-link"+query)
			g.send(t, "/by-header", "X-Echo-"+control, value)
			for _, path := range []string{"/by-link", "/by-header", "/another"} {
				expectEcho(t, g.send(t, path), path)
			}
		})
	}
}

// TestAttacksSucceedUnderFull checks that nginx obeys the response headers if controls are Full. This proves that the other tests can fail.
func TestAttacksSucceedUnderFull(t *testing.T) {
	g := startGateway(t, "ECHO_CONTROLS=Full")
	t.Run("a file is read", func(t *testing.T) {
		if got := g.send(t, "/file", attacks()["a file of nginx"].byHeader()...); got.body != secret {
			t.Errorf("the response is %q, want the secret", got.body)
		}
	})
	t.Run("the pods are considered as failed", func(t *testing.T) {
		g := startGateway(t, "ECHO_CONTROLS=Full")
		g.send(t, "/reset?echo.connection=reset")
		for _, path := range []string{"/reset", "/another"} {
			if got := g.send(t, path); got.StatusCode != http.StatusBadGateway {
				t.Errorf("another client gets %s for %s, want the error of nginx", got.Status, path)
			}
		}
	})
	for name, want := range map[string]int{"a redirect to another site, stored": 301, "an error, stored": 503} {
		t.Run(name, func(t *testing.T) {
			path := pathOf(name)
			g.send(t, path+attacks()[name].byLink())
			if got := g.send(t, path); got.StatusCode != want || got.Header.Get("X-Cache") != "HIT" {
				t.Errorf("another client gets %d, %q, want %d from the cache", got.StatusCode, got.Header.Get("X-Cache"), want)
			}
		})
	}
}

// expectFailure expects that the attacker receives neither the attack's headers nor the secret.
func (a attack) expectFailure(t *testing.T, way string, got answer) {
	t.Helper()
	for _, each := range a.headers {
		name, value, _ := strings.Cut(each, ": ")
		if actual := got.Header.Get(name); actual == value {
			t.Errorf("%s: the response has the header %s: %s", way, name, actual)
		}
	}
	if strings.Contains(got.body, secret) {
		t.Errorf("%s: the response contains the secret", way)
	}
}

// expectEcho expects a normal echo in JSON that does not come from the cache.
func expectEcho(t *testing.T, got answer, path string) {
	t.Helper()
	var echo struct {
		Path    string
		Headers http.Header
	}
	err := json.Unmarshal([]byte(got.body), &echo)
	controlled := slices.ContainsFunc(slices.Collect(maps.Keys(echo.Headers)),
		func(name string) bool { return strings.HasPrefix(name, "X-Echo-") })
	if err != nil || got.StatusCode != http.StatusOK || echo.Path != path || controlled {
		t.Errorf("%s: another client gets %s, %v: %.200q", path, got.Status, got.Header, got.body)
	}
	if stored := got.Header.Get("X-Cache"); stored != "MISS" {
		t.Errorf("%s: for another client, the cache has a %s", path, stored)
	}
}

// expectSameHeaders compares all headers except Date and Content-Length.
func expectSameHeaders(t *testing.T, got, want http.Header) {
	t.Helper()
	own := func(name string, _ []string) bool { return name == "Date" || name == "Content-Length" }
	got, want = maps.Clone(got), maps.Clone(want)
	maps.DeleteFunc(got, own)
	maps.DeleteFunc(want, own)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("another client gets the headers %v, want %v", got, want)
	}
}
