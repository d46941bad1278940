package requests

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// came returns the outcome of a request that the Echo described so.
func came(change func(*wire.Description)) run.Outcome {
	e := &wire.Description{Path: run.PlainPath, Host: "a", Method: "GET", Proto: "HTTP/1.1", Headers: http.Header{}}
	change(e)
	return run.Outcome{Response: &wire.Response{Status: 200, Description: e, Proven: true, Header: http.Header{}}}
}

// refused returns the outcome of a request to which the path responded itself.
func refused(how string) run.Outcome { return run.Outcome{Refusal: how} }

func expectValue(t *testing.T, what string, f fact.Fact, want string) {
	t.Helper()
	if f.Value != want || f.Name == "" || f.Meaning == "" {
		t.Errorf("%s: %s is %q (received %q), want %q", what, f.Name, f.Value, f.Received, want)
	}
}

func TestDecidePaths(t *testing.T) {
	for _, probe := range pathProbes() {
		for path, want := range map[string]string{probe.path: fact.Kept, "/elsewhere": fact.Changed} {
			expectValue(t, path, decidePath(probe, "/base", came(func(e *wire.Description) { e.Path = "/base" + path })), want)
		}
		for path, want := range probe.forms {
			expectValue(t, path, decidePath(probe, "", came(func(e *wire.Description) { e.Path = path })), want)
		}
		expectValue(t, probe.path, decidePath(probe, "", refused("404")), "refused 404")
	}
	expectValue(t, "the same", decidePrefix("/shop", "/shop"), fact.Kept)
	expectValue(t, "none", decidePrefix("/shop", ""), "removed")
	expectValue(t, "another", decidePrefix("/shop", "/api"), fact.Changed)
}

func TestDecideMethods(t *testing.T) {
	as := func(method string) run.Outcome { return came(func(e *wire.Description) { e.Method = method }) }
	for name, c := range map[string]struct {
		outcomes map[string]run.Outcome
		want     string
	}{
		"all arrive":     {map[string]run.Outcome{"GET": as("GET"), "PUT": as("PUT")}, fact.Kept},
		"one is refused": {map[string]run.Outcome{"GET": as("GET"), "PUT": refused("405")}, "refused PUT"},
		"one is changed": {map[string]run.Outcome{"GET": as("GET"), "PUT": as("POST")}, "changed PUT"},
		"HEAD":           {map[string]run.Outcome{"HEAD": {Response: &wire.Response{Status: 200, Proven: true}}}, fact.Kept},
		"many": {map[string]run.Outcome{"AAAAAAAAAA": refused("405"), "BBBBBBBBBB": refused("405"), "CCCCCCCCCC": refused("405")},
			"refused 3 #" + fact.Digest("AAAAAAAAAA,BBBBBBBBBB,CCCCCCCCCC")},
	} {
		expectValue(t, name, decideMethods("request.method", "m", c.outcomes), c.want)
	}
}

func TestDecideHeaders(t *testing.T) {
	sent := wire.Fields("X-A", "1", "X-B", "2", "Te", "trailers", "X-Pathcheck-Twice", "1")
	whole := func(change func(http.Header)) *wire.Description {
		e := &wire.Description{Headers: http.Header{"X-A": {"1"}, "X-B": {"2"}, "User-Agent": {"a"}, "Accept": {"a"}, "Echo-Check": {"a"},
			"X-Pathcheck-Twice": {"1, 2"}}}
		change(e.Headers)
		return e
	}
	same := whole(func(http.Header) {})
	for _, f := range []fact.Fact{decideLost(sent, same), decideAdded(sent, same), decideChanged(sent, same)} {
		expectValue(t, "as it was sent", f, fact.None)
	}
	expectValue(t, "without one", decideLost(sent, whole(func(h http.Header) { h.Del("X-B") })), "X-B")
	expectValue(t, "with two more", decideAdded(sent, whole(func(h http.Header) { h.Set("Via", "a"); h.Set("X-C", "3") })), "Via,X-C")
	expectValue(t, "with another value", decideChanged(sent, whole(func(h http.Header) { h.Set("X-A", "2") })), "X-A")

	for received, want := range map[string]string{"": "not reported", "x-PathCheck": fact.Kept, "x-pathcheck": "lower",
		"X-Pathcheck": "canonical", "X-PATHCHECK": fact.Changed} {
		e := &wire.Description{}
		e.Request.HeaderNames = []string{received}
		expectValue(t, received, decideCase("x-PathCheck", e), want)
	}
	for want, values := range map[string][]string{fact.Kept: {"1", "2"}, "merged": {"1, 2"}, "first": {"1"}, "last": {"2"},
		fact.Dropped: nil, fact.Changed: {"3"}} {
		expectValue(t, want, decideTwice("X-A", &wire.Description{Headers: http.Header{"X-A": values}}), want)
	}
	for want, names := range map[string][]string{fact.Kept: {"x-b", "Other", "x-a"}, fact.Changed: {"X-A", "X-B"}, "not reported": nil} {
		e := &wire.Description{}
		e.Request.HeaderNames = names
		expectValue(t, want, decideOrder([]string{"X-B", "X-A"}, e), want)
	}
	for want, headers := range map[string]http.Header{fact.Kept: {"X_a": {"1"}}, fact.Changed: {"X_a": {"2"}}, "renamed": {"X-A": {"1"}},
		fact.Dropped: {}} {
		expectValue(t, want, decideField("f", wire.Field{Name: "X_a", Value: "1"}, "m",
			came(func(e *wire.Description) { e.Headers = headers })), want)
	}
	expectValue(t, "refused", decideField("f", wire.Field{Name: "X_A", Value: "1"}, "m", refused("400")), "refused 400")
}

func TestDecideQuery(t *testing.T) {
	for path, want := range map[string]string{"/?" + oddQuery: fact.Kept, "/?a=1": fact.Changed, "/": fact.Dropped} {
		expectValue(t, path, decideQuery(came(func(e *wire.Description) { e.Path = path })), want)
	}
	expectValue(t, "refused", decideQuery(refused("403")), "refused 403")
	expectValue(t, "the host", decideHost("a", &wire.Description{Host: "a"}), fact.Kept)
	expectValue(t, "another host", decideHost("a", &wire.Description{Host: "b"}), fact.Changed)
}

func TestDecideHTTP2(t *testing.T) {
	expectValue(t, "none", decideHTTP2(nil, wire.ErrNoHTTP2), fact.No)
	expectValue(t, "another server", decideHTTP2(&wire.Response{Status: 502}, nil), "refused 502")
	expectValue(t, "a body of its own", decideHTTP2(&wire.Response{Proven: true}, nil), fact.Yes)
	expectValue(t, "down to HTTP/1.1", decideHTTP2(came(func(*wire.Description) {}).Response, nil), "HTTP/1.1")
}

func TestDecideAddress(t *testing.T) {
	local := netip.MustParseAddr("192.0.2.7")
	for name, c := range map[string]struct {
		peer       string
		headers    http.Header
		value, how string
	}{
		"no proxy":               {"192.0.2.7:1", nil, fact.Kept, "connection"},
		"a proxy that hides it":  {"10.0.0.1:1", nil, "lost", fact.None},
		"X-Forwarded-For":        {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"10.1.1.1, 192.0.2.7"}}, fact.Kept, "X-Forwarded-For"},
		"X-Forwarded-For, other": {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"192.0.2.77"}}, "lost", fact.None},
		"Forwarded":              {"10.0.0.1:1", http.Header{"Forwarded": {`by=a;for="192.0.2.7:5"`}}, fact.Kept, "Forwarded"},
		"X-Real-IP":              {"10.0.0.1:1", http.Header{"X-Real-Ip": {"192.0.2.7"}}, fact.Kept, "X-Real-Ip"},
		"a hidden identity":      {"", nil, "lost", fact.None},
	} {
		e := &wire.Description{Headers: c.headers}
		e.Client.RemoteAddress = c.peer
		facts := decideAddress(local, e)
		expectValue(t, name, facts[0], c.value)
		expectValue(t, name, facts[1], c.how)
	}
	six := &wire.Description{Headers: http.Header{"Forwarded": {`for="[2001:db8::1]:80"`}}}
	expectValue(t, "IPv6", decideAddress(netip.MustParseAddr("2001:db8::1"), six)[0], fact.Kept)
}

func TestDecideSpoofing(t *testing.T) {
	f := spoofings()[0]
	for received, want := range map[string]string{"": fact.No, "10.0.0.1": fact.No, spoofed: fact.Yes, spoofed + ", 10.0.0.1": "in front",
		"10.0.0.1, " + spoofed: fact.Yes} {
		expectValue(t, received, decideSpoofing(f, came(func(e *wire.Description) { e.Headers.Set("X-Forwarded-For", received) })), want)
	}
	expectValue(t, "refused", decideSpoofing(f, refused("403")), "refused 403")
	added := []string{"X-Forwarded-For"}
	expectValue(t, "nothing to strip", decideStripping(nil, run.Outcome{}), fact.None)
	expectValue(t, "kept", decideStripping(added, came(func(e *wire.Description) { e.Headers.Set("X-Forwarded-For", "a") })), fact.No)
	expectValue(t, "stripped", decideStripping(added, came(func(*wire.Description) {})), fact.Yes)
	expectValue(t, "refused", decideStripping(added, refused("400")), "refused 400")
	for value, want := range map[string]string{"": "not reported", "https": "reported", "http": "wrong"} {
		e := &wire.Description{Headers: http.Header{}}
		if value != "" {
			e.Headers.Set("X-Forwarded-Proto", value)
		}
		expectValue(t, value, decideScheme("https", e), want)
	}
}

func TestDecideIdentifiers(t *testing.T) {
	i := identifiers()[0]
	without, made := &wire.Description{Headers: http.Header{}}, &wire.Description{Headers: http.Header{"X-Request-Id": {"a"}}}
	for received, want := range map[string]string{"pathcheck-1": fact.Kept, "other": "replaced", "": fact.Dropped} {
		o := came(func(e *wire.Description) {
			if received != "" {
				e.Headers.Set("X-Request-Id", received)
			}
		})
		expectValue(t, received, decideIdentifier(i, without, o), want)
		expectValue(t, received, decideIdentifier(i, made, o), want+", else generated")
	}
}

func TestDecideBodies(t *testing.T) {
	body := func(length int64, announced int64) run.Outcome {
		return came(func(e *wire.Description) {
			e.Request.ContentLength = announced
			e.Request.Body = &struct {
				Size   int64
				SHA256 string
			}{Size: length}
		})
	}
	expectValue(t, "chunks", decideChunks(10, body(10, -1)), fact.Kept)
	expectValue(t, "a length", decideChunks(10, body(10, 10)), "length set")
	expectValue(t, "another length", decideChunks(10, body(5, 5)), fact.Dropped)
	expectValue(t, "no body", decideChunks(10, came(func(*wire.Description) {})), fact.Dropped)
	expectValue(t, "refused", decideChunks(10, refused("411")), "refused 411")
	now := time.Now()
	expectValue(t, "before", decideRequestBuffer(now, came(func(e *wire.Description) { e.Request.Time = now.Add(-time.Second) })), "streamed")
	expectValue(t, "after", decideRequestBuffer(now, came(func(e *wire.Description) { e.Request.Time = now.Add(time.Millisecond) })),
		"buffered")
	expects := came(func(e *wire.Description) { e.Headers.Set("Expect", "100-continue") })
	expectValue(t, "the Echo asks", decideExpect(100, expects), fact.Kept)
	expectValue(t, "a proxy asks", decideExpect(100, came(func(*wire.Description) {})), "sent by proxy")
	expectValue(t, "no one asks", decideExpect(0, expects), "not sent")
	expectValue(t, "refused", decideExpect(417, refused("417")), "refused 417")
	ladder := bodyLadder()
	expectValue(t, "all sizes", ladder.decide(largestBody, ""), "16Mi")
	expectValue(t, "no size", ladder.decide(0, "413"), "0")
}

func TestDecideRange(t *testing.T) {
	expectValue(t, "kept", decideRange("bytes=0-1", came(func(e *wire.Description) { e.Headers.Set("Range", "bytes=0-1") })), fact.Kept)
	expectValue(t, "dropped", decideRange("bytes=0-1", came(func(*wire.Description) {})), fact.Dropped)
	expectValue(t, "a cache", decideRange("bytes=0-1", run.Outcome{Response: &wire.Response{Status: 206}}), "served by proxy")
	expectValue(t, "refused", decideRange("bytes=0-1", refused("416")), "refused 416")
}
