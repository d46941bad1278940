package pathcheck

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"
	"time"
)

// came returns the outcome of a request that the Echo described so.
func came(change func(*echo)) outcome {
	e := &echo{Path: plainPath, Host: "a", Method: "GET", Proto: "HTTP/1.1", Headers: http.Header{}}
	change(e)
	return outcome{answer: &answer{status: 200, echo: e, proven: true, header: http.Header{}}}
}

// refused returns the outcome of a request to which the way responded itself.
func refused(how string) outcome { return outcome{refusal: how} }

func expectValue(t *testing.T, what string, f Fact, want string) {
	t.Helper()
	if f.Value != want || f.Name == "" || f.Meaning == "" {
		t.Errorf("%s: %s is %q (received %q), want %q", what, f.Name, f.Value, f.Received, want)
	}
}

func TestDecidePaths(t *testing.T) {
	for _, probe := range pathProbes() {
		for path, want := range map[string]string{probe.path: kept, "/elsewhere": changed} {
			expectValue(t, path, decidePath(probe, "/base", came(func(e *echo) { e.Path = "/base" + path })), want)
		}
		for path, want := range probe.forms {
			expectValue(t, path, decidePath(probe, "", came(func(e *echo) { e.Path = path })), want)
		}
		expectValue(t, probe.path, decidePath(probe, "", refused("404")), "refused 404")
	}
	expectValue(t, "the same", decidePrefix("/shop", "/shop"), kept)
	expectValue(t, "none", decidePrefix("/shop", ""), "removed")
	expectValue(t, "another", decidePrefix("/shop", "/api"), changed)
}

func TestDecideMethods(t *testing.T) {
	as := func(method string) outcome { return came(func(e *echo) { e.Method = method }) }
	for name, c := range map[string]struct {
		outcomes map[string]outcome
		want     string
	}{
		"all arrive":     {map[string]outcome{"GET": as("GET"), "PUT": as("PUT")}, kept},
		"one is refused": {map[string]outcome{"GET": as("GET"), "PUT": refused("405")}, "refused PUT"},
		"one is changed": {map[string]outcome{"GET": as("GET"), "PUT": as("POST")}, "changed PUT"},
		"HEAD":           {map[string]outcome{"HEAD": {answer: &answer{status: 200, proven: true}}}, kept},
		"many": {map[string]outcome{"AAAAAAAAAA": refused("405"), "BBBBBBBBBB": refused("405"), "CCCCCCCCCC": refused("405")},
			"refused 3 #" + digestOf("AAAAAAAAAA,BBBBBBBBBB,CCCCCCCCCC")},
	} {
		expectValue(t, name, decideMethods("request.method", "m", c.outcomes), c.want)
	}
}

func TestDecideHeaders(t *testing.T) {
	sent := []field{{"X-A", "1"}, {"X-B", "2"}, {"Te", "trailers"}, {"X-Pathcheck-Twice", "1"}}
	whole := func(change func(http.Header)) *echo {
		e := &echo{Headers: http.Header{"X-A": {"1"}, "X-B": {"2"}, "User-Agent": {"a"}, "Accept": {"a"}, "Echo-Check": {"a"}, "X-Pathcheck-Twice": {"1, 2"}}}
		change(e.Headers)
		return e
	}
	same := whole(func(http.Header) {})
	for _, f := range []Fact{decideLost(sent, same), decideAdded(sent, same), decideChanged(sent, same)} {
		expectValue(t, "as it was sent", f, none)
	}
	expectValue(t, "without one", decideLost(sent, whole(func(h http.Header) { h.Del("X-B") })), "X-B")
	expectValue(t, "with two more", decideAdded(sent, whole(func(h http.Header) { h.Set("Via", "a"); h.Set("X-C", "3") })), "Via,X-C")
	expectValue(t, "with another value", decideChanged(sent, whole(func(h http.Header) { h.Set("X-A", "2") })), "X-A")

	for received, want := range map[string]string{"": "not told", "x-PathCheck": kept, "x-pathcheck": "lower", "X-Pathcheck": "canonical", "X-PATHCHECK": changed} {
		e := &echo{}
		e.Request.HeaderNames = []string{received}
		expectValue(t, received, decideCase("x-PathCheck", e), want)
	}
	for want, values := range map[string][]string{kept: {"1", "2"}, "merged": {"1, 2"}, "first": {"1"}, "last": {"2"}, dropped: nil, changed: {"3"}} {
		expectValue(t, want, decideTwice("X-A", &echo{Headers: http.Header{"X-A": values}}), want)
	}
	for want, names := range map[string][]string{kept: {"x-b", "Other", "x-a"}, changed: {"X-A", "X-B"}, "not told": nil} {
		e := &echo{}
		e.Request.HeaderNames = names
		expectValue(t, want, decideOrder([]string{"X-B", "X-A"}, e), want)
	}
	for want, headers := range map[string]http.Header{kept: {"X_a": {"1"}}, changed: {"X_a": {"2"}}, "renamed": {"X-A": {"1"}}, dropped: {}} {
		expectValue(t, want, decideField("f", field{"X_a", "1"}, "m", came(func(e *echo) { e.Headers = headers })), want)
	}
	expectValue(t, "refused", decideField("f", field{"X_A", "1"}, "m", refused("400")), "refused 400")
}

func TestDecideQuery(t *testing.T) {
	for path, want := range map[string]string{"/?" + oddQuery: kept, "/?a=1": changed, "/": dropped} {
		expectValue(t, path, decideQuery(came(func(e *echo) { e.Path = path })), want)
	}
	expectValue(t, "refused", decideQuery(refused("403")), "refused 403")
	expectValue(t, "the host", decideHost("a", &echo{Host: "a"}), kept)
	expectValue(t, "another host", decideHost("a", &echo{Host: "b"}), changed)
}

func TestDecideHTTP2(t *testing.T) {
	expectValue(t, "none", decideHTTP2(nil, errNoHTTP2), no)
	expectValue(t, "another server", decideHTTP2(&answer{status: 502}, nil), "refused 502")
	expectValue(t, "a body of its own", decideHTTP2(&answer{proven: true}, nil), yes)
	expectValue(t, "down to HTTP/1.1", decideHTTP2(came(func(*echo) {}).answer, nil), "HTTP/1.1")
}

func TestDecideAddress(t *testing.T) {
	local := netip.MustParseAddr("192.0.2.7")
	for name, c := range map[string]struct {
		peer       string
		headers    http.Header
		value, how string
	}{
		"no proxy":               {"192.0.2.7:1", nil, kept, "connection"},
		"a proxy that hides it":  {"10.0.0.1:1", nil, "lost", none},
		"X-Forwarded-For":        {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"10.1.1.1, 192.0.2.7"}}, kept, "X-Forwarded-For"},
		"X-Forwarded-For, other": {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"192.0.2.77"}}, "lost", none},
		"Forwarded":              {"10.0.0.1:1", http.Header{"Forwarded": {`by=a;for="192.0.2.7:5"`}}, kept, "Forwarded"},
		"X-Real-IP":              {"10.0.0.1:1", http.Header{"X-Real-Ip": {"192.0.2.7"}}, kept, "X-Real-Ip"},
		"a hidden identity":      {"", nil, "lost", none},
	} {
		e := &echo{Headers: c.headers}
		e.Client.RemoteAddress = c.peer
		facts := decideAddress(local, e)
		expectValue(t, name, facts[0], c.value)
		expectValue(t, name, facts[1], c.how)
	}
	six := &echo{Headers: http.Header{"Forwarded": {`for="[2001:db8::1]:80"`}}}
	expectValue(t, "IPv6", decideAddress(netip.MustParseAddr("2001:db8::1"), six)[0], kept)
}

func TestDecideForgery(t *testing.T) {
	f := forgeries()[0]
	for received, want := range map[string]string{"": no, "10.0.0.1": no, forged: yes, forged + ", 10.0.0.1": "in front", "10.0.0.1, " + forged: yes} {
		expectValue(t, received, decideForgery(f, came(func(e *echo) { e.Headers.Set("X-Forwarded-For", received) })), want)
	}
	expectValue(t, "refused", decideForgery(f, refused("403")), "refused 403")
	added := []string{"X-Forwarded-For"}
	expectValue(t, "nothing to strip", decideStripping(nil, outcome{}), none)
	expectValue(t, "kept", decideStripping(added, came(func(e *echo) { e.Headers.Set("X-Forwarded-For", "a") })), no)
	expectValue(t, "stripped", decideStripping(added, came(func(*echo) {})), yes)
	expectValue(t, "refused", decideStripping(added, refused("400")), "refused 400")
	for value, want := range map[string]string{"": "not told", "https": "told", "http": "wrong"} {
		e := &echo{Headers: http.Header{}}
		if value != "" {
			e.Headers.Set("X-Forwarded-Proto", value)
		}
		expectValue(t, value, decideScheme("https", e), want)
	}
}

func TestDecideIdentifiers(t *testing.T) {
	i := identifiers()[0]
	without, made := &echo{Headers: http.Header{}}, &echo{Headers: http.Header{"X-Request-Id": {"a"}}}
	for received, want := range map[string]string{"pathcheck-1": kept, "other": "replaced", "": dropped} {
		o := came(func(e *echo) {
			if received != "" {
				e.Headers.Set("X-Request-Id", received)
			}
		})
		expectValue(t, received, decideIdentifier(i, without, o), want)
		expectValue(t, received, decideIdentifier(i, made, o), want+", else made")
	}
}

func TestDecideBodies(t *testing.T) {
	body := func(length int64, announced int64) outcome {
		return came(func(e *echo) {
			e.Request.ContentLength = announced
			e.Request.Body = &struct {
				Size   int64
				SHA256 string
			}{Size: length}
		})
	}
	expectValue(t, "chunks", decideChunks(10, body(10, -1)), kept)
	expectValue(t, "a length", decideChunks(10, body(10, 10)), "length set")
	expectValue(t, "another length", decideChunks(10, body(5, 5)), dropped)
	expectValue(t, "no body", decideChunks(10, came(func(*echo) {})), dropped)
	expectValue(t, "refused", decideChunks(10, refused("411")), "refused 411")
	now := time.Now()
	expectValue(t, "before", decideRequestBuffer(now, came(func(e *echo) { e.Request.Time = now.Add(-time.Second) })), "streamed")
	expectValue(t, "after", decideRequestBuffer(now, came(func(e *echo) { e.Request.Time = now.Add(time.Millisecond) })), "buffered")
	expects := came(func(e *echo) { e.Headers.Set("Expect", "100-continue") })
	expectValue(t, "the Echo asks", decideExpect(100, expects), kept)
	expectValue(t, "the way asks", decideExpect(100, came(func(*echo) {})), "answered by way")
	expectValue(t, "nobody asks", decideExpect(0, expects), "not answered")
	expectValue(t, "refused", decideExpect(417, refused("417")), "refused 417")
	ladder := bodyLadder()
	expectValue(t, "all sizes", ladder.decide(largestBody, ""), "16Mi")
	expectValue(t, "no size", ladder.decide(0, "413"), "0")
}

func TestDecideRange(t *testing.T) {
	expectValue(t, "kept", decideRange("bytes=0-1", came(func(e *echo) { e.Headers.Set("Range", "bytes=0-1") })), kept)
	expectValue(t, "dropped", decideRange("bytes=0-1", came(func(*echo) {})), dropped)
	expectValue(t, "a cache", decideRange("bytes=0-1", outcome{answer: &answer{status: 206}}), "served by way")
	expectValue(t, "refused", decideRange("bytes=0-1", refused("416")), "refused 416")
}

func TestDecideStreams(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		arrivals     []time.Duration
		events, gRPC string
	}{
		"nothing":        {nil, "buffered", no},
		"one":            {[]time.Duration{0}, "buffered", no},
		"all at once":    {[]time.Duration{2 * s, 2 * s, 2 * s}, "buffered", "buffered"},
		"one by one":     {[]time.Duration{0, s, 2 * s}, "streamed", "streamed"},
		"one, then both": {[]time.Duration{0, 2 * s, 2 * s}, "streamed", "streamed"},
	} {
		expectValue(t, name, decideEvents(c.arrivals), c.events)
		expectValue(t, name, decideStream(c.arrivals), c.gRPC)
	}
}

func TestDecideAnswers(t *testing.T) {
	at := func(status int) outcome { return outcome{answer: &answer{status: status}} }
	expectValue(t, "as they are", decideStatuses(map[int]outcome{404: at(404), 503: at(503)}), kept)
	expectValue(t, "pages of the way", decideStatuses(map[int]outcome{404: at(404), 503: refused("503")}), "replaced 503")
	expectValue(t, "another status", decideStatuses(map[int]outcome{404: at(200), 503: at(503)}), "replaced 404")
	header := func(pairs ...string) http.Header {
		h := http.Header{"Date": {"a"}, "X-A": {"1"}, "Echo-Proof": {"a"}}
		for i := 0; i < len(pairs); i += 2 {
			h.Set(pairs[i], pairs[i+1])
		}
		return h
	}
	want := []field{{"Date", ""}, {"X-A", "1"}}
	for i, value := range []string{none, none, none} {
		expectValue(t, "as they are", decideAnswerHeaders(want, header())[i], value)
	}
	expectValue(t, "lost", decideAnswerHeaders(append(want, field{"X-B", ""}), header())[0], "X-B")
	expectValue(t, "added", decideAnswerHeaders(want, header("Via", "a"))[1], "Via")
	expectValue(t, "changed", decideAnswerHeaders(want, header("X-A", "2"))[2], "X-A")
	expectValue(t, "compressed", decideCompression(outcome{answer: &answer{header: http.Header{"Content-Encoding": {"gzip"}}}}), "gzip")
	expectValue(t, "hints", decideEarlyHints(outcome{answer: &answer{interim: []int{103}}}), kept)
	expectValue(t, "no hints", decideEarlyHints(outcome{answer: &answer{}}), dropped)
	expectValue(t, "a cache", decideCaching(outcome{answer: &answer{cached: true}, refusal: refusedByCache}), yes)
	expectValue(t, "no cache", decideCaching(outcome{answer: &answer{}}), no)
}

func TestDecideUpgrades(t *testing.T) {
	expectValue(t, "yes", decideUpgrade(outcome{answer: &answer{status: 101}}), yes)
	expectValue(t, "no", decideUpgrade(outcome{answer: &answer{status: 200}}), no)
	expectValue(t, "refused", decideUpgrade(refused("403")), "refused 403")
	expectValue(t, "lost", decideMessages(100, errors.New("a")), "lost at 100B")
	expectValue(t, "gRPC over HTTP/1", decideUnary(&answer{proven: true, header: http.Header{}}, nil), no)
	calls := &answer{proven: true, header: http.Header{"Content-Type": {grpcType}}, body: []byte("pathcheck"), trailers: http.Header{}}
	expectValue(t, "no trailers", decideUnary(calls, nil), "no trailers")
	calls.trailers.Set("Grpc-Status", "2")
	expectValue(t, "another status", decideUnary(calls, nil), changed)
	calls.trailers.Set("Grpc-Status", "0")
	expectValue(t, "a call", decideUnary(calls, nil), yes)
}
