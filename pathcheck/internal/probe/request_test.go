package probe

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// came returns the outcome of a request that the Echo described. change modifies the description.
func came(change func(*wire.Description)) Outcome {
	e := &wire.Description{Path: PlainPath, Host: "a", Method: "GET", Proto: "HTTP/1.1", Headers: http.Header{}}
	change(e)
	return Outcome{Response: &wire.Response{Status: 200, Description: e, Proven: true, Claims: &proof.Claims{Status: 200, Method: "GET"},
		Header: http.Header{}}}
}

// valueOf returns the first of several results.
func valueOf(value, _ string) string { return value }

func expectText(t *testing.T, what, value, want string) {
	t.Helper()
	if value != want {
		t.Errorf("%s: %q, want %q", what, value, want)
	}
}

func expectValue(t *testing.T, what string, f Fact, want string) {
	t.Helper()
	if f.Value != want || f.Name == "" {
		t.Errorf("%s: %s is %q (received %q), want %q", what, f.Name, f.Value, f.Received, want)
	}
}

func TestDecidePath(t *testing.T) {
	at := func(path string) *wire.Description { return &wire.Description{Path: path} }
	for _, probe := range pathProbes() {
		for path, want := range map[string]string{probe.path: Kept, "/elsewhere": Changed} {
			expectText(t, path, valueOf(decidePath(probe, "/base", at("/base"+path))), want)
		}
		for path, want := range probe.forms {
			expectText(t, path, valueOf(decidePath(probe, "", at(path))), want)
		}
	}
	expectValue(t, "the same", decidePrefix("/shop", "/shop"), Kept)
	expectValue(t, "none", decidePrefix("/shop", ""), "removed")
	expectValue(t, "another", decidePrefix("/shop", "/api"), Changed)
}

func TestDecideCase_andOtherHeaderFacts(t *testing.T) {
	for received, want := range map[string]string{"": "", "x-PathCheck": Kept, "x-pathcheck": "lower",
		"X-Pathcheck": "canonical", "X-PATHCHECK": Changed} {
		e := &wire.Description{}
		e.Request.HeaderNames = []string{received}
		expectValue(t, received, decideCase("x-PathCheck", e), want)
	}
	for want, values := range map[string][]string{Kept: {"1", "2"}, "merged": {"1, 2"}, "first": {"1"}, "last": {"2"},
		Dropped: nil, Changed: {"3"}} {
		expectValue(t, want, decideTwice("X-A", &wire.Description{Headers: http.Header{"X-A": values}}), want)
	}
	for want, headers := range map[string]http.Header{Kept: {"X_a": {"1"}}, Changed: {"X_a": {"2"}}, "renamed": {"X-A": {"1"}},
		Dropped: {}} {
		expectText(t, want, valueOf(decideField(wire.Field{Name: "X_a", Value: "1"}, &wire.Description{Headers: headers})), want)
	}
	expectValue(t, "redacted", decideTwice("X-A", &wire.Description{Headers: http.Header{"X-A": {"[redacted: 1 bytes, sha256 0]"}}}), "")
}

// TestDecideAddress uses headers that gateways send according to their documentation.
func TestDecideAddress(t *testing.T) {
	local := netip.MustParseAddr("192.0.2.7")
	for name, c := range map[string]struct {
		peer       string
		headers    http.Header
		value, how string
	}{
		"no proxy":                    {"192.0.2.7:1", nil, Kept, "connection"},
		"a proxy that hides it":       {"10.0.0.1:1", nil, "lost", None},
		"a hidden identity":           {"", nil, "", ""},
		"a proxy before it":           {"", http.Header{"X-Forwarded-For": {"unknown"}}, "lost", None},
		"X-Forwarded-For":             {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"10.1.1.1, 192.0.2.7"}}, Kept, "X-Forwarded-For"},
		"in the second line":          {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"10.1.1.1", "192.0.2.7"}}, Kept, "X-Forwarded-For"},
		"with a port":                 {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"192.0.2.7:5"}}, Kept, "X-Forwarded-For"},
		"an IPv4-mapped address":      {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"::ffff:192.0.2.7"}}, Kept, "X-Forwarded-For"},
		"the node, which is the peer": {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"10.0.0.1"}}, "replaced", "X-Forwarded-For"},
		"a NAT in another header": {"10.0.0.1:1", http.Header{"True-Client-Ip": {"192.0.2.77"}}, "replaced",
			"True-Client-IP"},
		"one of two": {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"10.0.0.2"}, "Cf-Connecting-Ip": {"192.0.2.7"}}, Kept,
			"CF-Connecting-IP"},
		"an empty header":       {"10.0.0.1:1", http.Header{"X-Forwarded-For": {""}}, "lost", None},
		"Forwarded":             {"10.0.0.1:1", http.Header{"Forwarded": {`by=a;for="192.0.2.7:5"`}}, Kept, "Forwarded"},
		"Forwarded by the node": {"10.0.0.1:1", http.Header{"Forwarded": {`for=10.0.0.1;by=192.0.2.7`}}, "replaced", "Forwarded"},
		"Forwarded, hidden":     {"10.0.0.1:1", http.Header{"Forwarded": {`for=_hidden;by=10.0.0.1, for=unknown`}}, "lost", None},
		"CloudFront": {"10.0.0.1:1", http.Header{"Cloudfront-Viewer-Address": {"192.0.2.7:5"}}, Kept,
			"CloudFront-Viewer-Address"},
		"a custom header":     {"10.0.0.1:1", http.Header{"X-Shop-Visitor": {"192.0.2.7"}}, Kept, "X-Shop-Visitor"},
		"a header of servers": {"10.0.0.1:1", http.Header{"X-Forwarded-Host": {"192.0.2.7"}}, "lost", None},
		"redacted":            {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"[redacted: 9 bytes, sha256 00000000]"}}, "", ""},
		"redacted, with a digest": {"10.0.0.1:1", http.Header{"X-Forwarded-For": {"[redacted: 9 bytes, sha256 37dad677]"}}, Kept,
			"X-Forwarded-For"},
		"an address elsewhere": {"10.0.0.1:1", http.Header{"X-Upstream": {"10.0.0.3"}}, "lost", None},
	} {
		e := &wire.Description{Headers: c.headers}
		e.Client.RemoteAddress = c.peer
		facts := decideAddress(local, "", e)
		expectValue(t, name, facts[0], c.value)
		expectValue(t, name, facts[1], c.how)
	}
	for header, value := range map[string]string{"Forwarded": `for="[2001:db8::1]:80"`, "X-Forwarded-For": "[2001:DB8::1]",
		"Cloudfront-Viewer-Address": "2001:db8:0:0:0:0:0:1:443", "X-Client-Ip": "2001:db8::1:443", "X-Real-Ip": "2001:db8::1"} {
		six := &wire.Description{Headers: http.Header{header: {value}}}
		expectValue(t, header, decideAddress(netip.MustParseAddr("2001:db8::1"), "", six)[0], Kept)
	}
}

func TestDecideSpoofing(t *testing.T) {
	for _, header := range append(addressHeaders(), "X-Forwarded-Host", "X-Forwarded-Proto", "X-Shop-Visitor") {
		for _, sent := range spoofs(header, "https") {
			other := "10.0.0.1"
			if header == "Forwarded" {
				other = "for=10.0.0.1"
			}
			for received, want := range map[string]string{"": NotFound, other: NotFound, sent: Yes, sent + ", " + other: inFront,
				other + ", " + sent: Yes} {
				e := &wire.Description{Headers: http.Header{}}
				e.Headers.Set(header, received)
				value, _ := decideSpoofing(header, sent, &wire.Description{}, e)
				expectText(t, header+": "+received, value, want)
			}
		}
	}
	for text, want := range map[string]bool{redacted("8.8.4.4"): true, redacted("8.8.4.4, 10.0.0.1"): false} {
		_, isKnown := decideSpoofing("X-A", "8.8.4.4", &wire.Description{}, &wire.Description{Headers: http.Header{"X-A": {text}}})
		if isKnown != want {
			t.Errorf("%s: %t", text, isKnown)
		}
	}
	hostile := &wire.Description{Headers: http.Header{}}
	for _, name := range []string{"X-A: 1\r\nX-B", "Transfer-Encoding", "Content-Length", "", strings.Repeat("X", 100), "X-Own", "X-1", "X-2",
		"X-3"} {
		hostile.Headers[name] = []string{"192.0.2.7"}
	}
	if got := otherHeaders(netip.MustParseAddr("192.0.2.7"), hostile); !slices.Equal(got, []string{"X-1", "X-2", "X-3", "X-Own"}) {
		t.Errorf("the headers %q would be sent", got)
	}
}

// TestSpoofed_add checks that the worst try counts.
func TestSpoofed_add(t *testing.T) {
	received := func(value string) result {
		return result{Kept, "", came(func(e *wire.Description) { e.Headers.Set("X-A", value) })}
	}
	refused := result{"", "refused", Outcome{Refusal: "403"}}
	for want, tries := range map[string][]result{
		NotFound: {received("1.1.1.1"), received("")},
		inFront:  {received("1.1.1.1"), received("8.8.4.4, 1.1.1.1"), received("")},
		Yes:      {received("8.8.4.4, 1.1.1.1"), received("8.8.4.4"), received("1.1.1.1"), refused},
		"":       {refused},
	} {
		var s spoofed
		for _, each := range tries {
			s.add("X-A", "8.8.4.4", &wire.Description{}, each)
		}
		expectText(t, want, s.value, want)
	}
}

// TestDecideReported uses headers in which gateways report the URL https://shop.example:8443/.
func TestDecideReported(t *testing.T) {
	target := &wire.Target{Scheme: "https", Host: "shop.example:8443", Name: "shop.example"}
	for name, c := range map[string]struct {
		headers http.Header
		want    []string // client.proto, client.proto.by, client.host, client.port
	}{
		"nothing": {http.Header{}, []string{"not reported", None, "not reported", "not reported"}},
		"all": {http.Header{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"shop.example:8443"}, "X-Forwarded-Port": {"8443"}},
			[]string{"reported", "X-Forwarded-Proto", "reported", "reported"}},
		"in capitals, without the port": {http.Header{"X-Forwarded-Proto": {"HTTPS"}, "X-Forwarded-Host": {"Shop.example"}},
			[]string{"reported", "X-Forwarded-Proto", "reported", "not reported"}},
		"of the proxy itself": {http.Header{"X-Forwarded-Proto": {"http"}, "X-Forwarded-Host": {"10.0.0.1"}, "X-Forwarded-Port": {"80"}},
			[]string{"wrong", "X-Forwarded-Proto", "wrong", "wrong"}},
		"lists": {http.Header{"X-Forwarded-Proto": {"https, http"}, "X-Forwarded-Host": {"shop.example:8443,shop.example:8443"},
			"X-Forwarded-Port": {"8443, 80"}}, []string{"list", "X-Forwarded-Proto", "list", "list"}},
		"two lines": {http.Header{"X-Forwarded-Proto": {"https", "https"}, "X-Forwarded-Host": {"shop.example", "a"},
			"X-Forwarded-Port": {"8443", "80"}}, []string{"list", "X-Forwarded-Proto", "list", "list"}},
		"an empty element": {http.Header{"X-Forwarded-Proto": {"https,"}}, []string{"reported", "X-Forwarded-Proto", "not reported",
			"not reported"}},
		"Forwarded": {http.Header{"Forwarded": {`for=10.0.0.1;Proto=https;host="shop.example:8443", for=a;proto=http`}},
			[]string{"reported", "Forwarded", "reported", "not reported"}},
		"X-Forwarded-Proto comes first": {http.Header{"Forwarded": {"proto=https"}, "X-Forwarded-Proto": {"http"}},
			[]string{"wrong", "X-Forwarded-Proto", "not reported", "not reported"}},
		"X-Scheme": {http.Header{"X-Scheme": {"https"}}, []string{"reported", "X-Scheme", "not reported", "not reported"}},
		"X-Forwarded-Ssl": {http.Header{"X-Forwarded-Ssl": {"on"}}, []string{"reported", "X-Forwarded-Ssl", "not reported",
			"not reported"}},
		"redacted":           {http.Header{"X-Forwarded-Proto": {redacted("http")}}, []string{"", "X-Forwarded-Proto", "not reported", "not reported"}},
		"redacted and right": {http.Header{"X-Forwarded-Proto": {redacted("https")}}, []string{"reported", "X-Forwarded-Proto", "not reported", "not reported"}},
		"the scheme of a WebSocket": {http.Header{"X-Forwarded-Proto": {"wss"}}, []string{"wrong", "X-Forwarded-Proto", "not reported",
			"not reported"}},
	} {
		facts := decideReported(target, &wire.Description{Headers: c.headers})
		for i, want := range c.want {
			expectValue(t, name, facts[i], want)
		}
	}
	six := &wire.Description{Headers: http.Header{"X-Forwarded-Port": {"80"}, "X-Forwarded-Host": {"[::1]"}}}
	for _, f := range decideReported(&wire.Target{Scheme: "http", Host: "[::1]", Name: "::1"}, six)[2:] {
		expectValue(t, "IPv6", f, "reported")
	}
}

func TestDecideIdentifier(t *testing.T) {
	id := identifiers()[0]
	for _, sent := range id.sent {
		for received, want := range map[string]string{sent: Kept, "other": "replaced", "": Dropped, redacted(sent): Kept, redacted("other"): ""} {
			e := &wire.Description{Headers: http.Header{}}
			if received != "" {
				e.Headers.Set("X-Request-Id", received)
			}
			expectText(t, received, valueOf(decideIdentifier(id, sent, e)), want)
		}
	}
	trace := identifiers()[1]
	e := &wire.Description{Headers: http.Header{"Traceparent": {trace.sent[0][:trace.part] + "-ffffffffffffffff-00"}}}
	expectText(t, "another parent", valueOf(decideIdentifier(trace, trace.sent[0], e)), Kept)
}

func TestDecideChunks_andOtherBodyFacts(t *testing.T) {
	expectText(t, "another length", valueOf(decideChunks(10, &proof.Arrival{Size: 5, Length: 5})), Dropped)
	expectText(t, "no body", valueOf(decideChunks(10, &proof.Arrival{})), Dropped)
	expectText(t, "a length", valueOf(decideChunks(10, &proof.Arrival{Size: 10, Length: 10})), "length set")
	expectText(t, "chunks", valueOf(decideChunks(10, &proof.Arrival{Size: 10, Length: -1})), Kept)
	for want, received := range map[string]proof.Arrival{"streamed": {Size: 20, First: 2, Last: 1500}, "buffered": {Size: 20, First: 1500, Last: 1501},
		"": {Size: 10, Last: 1500}} {
		expectText(t, want, valueOf(decideRequestBuffer(20, &received)), want)
	}
	after := func(status int, o Outcome) Outcome {
		o.Continue = status
		return o
	}
	expects := came(func(e *wire.Description) { e.Headers.Set("Expect", "100-continue") })
	expectText(t, "no one asks", valueOf(decideExpect(after(0, expects))), "not sent")
	expectText(t, "a proxy asks, and waits for the body", valueOf(decideExpect(after(100, expects))), "sent by proxy")
	expects.Claims.Request.First = pause.Milliseconds()
	expectText(t, "the Echo asks", valueOf(decideExpect(after(100, expects))), Kept)
	expectText(t, "a proxy asks", valueOf(decideExpect(after(100, came(func(*wire.Description) {})))), "sent by proxy")
	ladder := bodyLadder(true, true)
	expectValue(t, "all sizes", ladder.decide(len(ladder.sizes)-1, byNone, "")[0], "16Mi")
	expectValue(t, "no size", ladder.decide(-1, byProxy, "413")[0], "0")
	expectValue(t, "no size", ladder.decide(-1, byProxy, "413")[1], "proxy")
}

// TestDecideSpoofing_parsesForwarded parses the Forwarded header as RFC 7239 defines it.
func TestDecideSpoofing_parsesForwarded(t *testing.T) {
	of := func(lines ...string) *wire.Description {
		return &wire.Description{Method: http.MethodGet, Headers: http.Header{"Forwarded": lines}}
	}
	for text, want := range map[string]string{
		`for="192.0.2.123"`:                     Yes,
		"For=192.0.2.123;by=10.0.0.1":           Yes,
		`for=10.0.0.1;host="a,for=192.0.2.123"`: NotFound,
	} {
		value, _ := decideSpoofing("Forwarded", "for=192.0.2.123", &wire.Description{}, of(text))
		expectText(t, text, value, want)
	}
	for text, want := range map[string]string{"for=10.0.0.1;proto=https": "reported", `PROTO="https"`: "reported", "proto=http": "wrong",
		"proto=httpsx": "wrong"} {
		expectValue(t, text, decideReported(&wire.Target{Scheme: "https"}, of(text))[0], want)
	}
}

// TestDecideChanged uses values as the Echo reports them.
func TestDecideChanged(t *testing.T) {
	sent := wire.Fields("X-A", "1", "Authorization", "Basic cGF0aDpjaGVjaw==", "Cookie", "pathcheck=1", "X-Empty", "", "Te", "trailers",
		"X-Pathcheck-Twice", "1", "X-Pathcheck-Twice", "2")
	for name, c := range map[string]struct {
		header string
		values []string
		want   string
	}{
		"the same value":    {"X-A", []string{"1"}, None},
		"another value":     {"X-A", []string{"2"}, "X-A"},
		"no value":          {"X-A", nil, None}, // it is removed
		"a second line":     {"X-A", []string{"1", "2"}, "X-A"},
		"a list":            {"X-A", []string{"1, 2"}, "X-A"},
		"still empty":       {"X-Empty", []string{""}, None},
		"no longer empty":   {"X-Empty", []string{"1"}, "X-Empty"},
		"hop-by-hop":        {"Te", []string{"gzip"}, None},
		"a merged list":     {"X-Pathcheck-Twice", []string{"1, 2"}, None}, // request.headers.duplicates reports this
		"a visible secret":  {"Authorization", []string{"Basic cGF0aDpjaGVjaw=="}, None},
		"a redacted secret": {"Authorization", []string{"Basic [redacted: 16 bytes, sha256 da76ca46]"}, None},
		"another scheme":    {"Authorization", []string{"Bearer [redacted: 16 bytes, sha256 da76ca46]"}, "Authorization"},
		"another secret":    {"Authorization", []string{"Basic [redacted: 16 bytes, sha256 00000000]"}, "Authorization"},
		"a redacted cookie": {"Cookie", []string{"[redacted: 11 bytes, sha256 360f3e92]"}, None},
		"a second, redacted cookie": {"Cookie", []string{"[redacted: 11 bytes, sha256 360f3e92]", "[redacted: 3 bytes, sha256 00000000]"},
			"Cookie"},
	} {
		expectValue(t, name, decideChanged(sent, &wire.Description{Headers: http.Header{c.header: c.values}}), c.want)
	}
}

func TestNewFact_bounded(t *testing.T) {
	f := NewFact("a", strings.Repeat("v", 1000)+"\n", "\x1b[31m"+strings.Repeat("s", 10_000), "\u202e<b>")
	if len(f.Value) > maxValue || len(f.Sent) > maxText || strings.ContainsAny(f.Sent+f.Received+f.Value, "\x1b\n\u202e") {
		t.Errorf("the fact is %+v", f)
	}
	other := NewFact("a", strings.Repeat("v", 1001)+"\n", "", "")
	if f.Value == other.Value {
		t.Error("two long values cannot be distinguished")
	}
	if got := listed(slices.Repeat([]string{"b", "a"}, 3)); got != "a,b" {
		t.Errorf("the list is %q", got)
	}
}
