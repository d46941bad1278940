package probe

import (
	"net/http"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// TestDecideSpoofing_parsesForwarded parses the Forwarded header as RFC 7239 defines it.
func TestDecideSpoofing_parsesForwarded(t *testing.T) {
	of := func(lines ...string) *wire.Description {
		return &wire.Description{Method: http.MethodGet, Headers: http.Header{"Forwarded": lines}}
	}
	for text, want := range map[string]string{
		"for=192.0.2.123":                       Yes,
		`for="192.0.2.123"`:                     Yes,
		"For=192.0.2.123;by=10.0.0.1":           Yes,
		"for=192.0.2.123, for=10.0.0.1":         "in front",
		"for=10.0.0.1, for=192.0.2.123":         Yes,
		"for=10.0.0.1":                          No,
		`for=10.0.0.1;host="a,for=192.0.2.123"`: No,
		"":                                      No,
	} {
		expectValue(t, text, decideSpoofing(spoofings(nil)[1], Outcome{Response: &wire.Response{Description: of(text)}}), want)
	}
	expectValue(t, "two lines", decideSpoofing(spoofings(nil)[1], Outcome{Response: &wire.Response{Description: of("for=192.0.2.123",
		"for=10.0.0.1")}}), "in front")
	for text, want := range map[string]string{"for=10.0.0.1;proto=https": "reported", `PROTO="https"`: "reported", "proto=http": "wrong",
		"proto=httpsx": "wrong"} {
		expectValue(t, text, decideReported(&wire.Target{Scheme: "https"}, of(text))[0], want)
	}
}

// TestPathProbes_stayBelow checks that no path leads outside the Echo's path, even if dot segments are resolved after escapes are decoded.
func TestPathProbes_stayBelow(t *testing.T) {
	for _, probe := range pathProbes() {
		depth := 0
		decoded := strings.NewReplacer("%2e", ".", "%2E", ".", "%2F", "/", "%2f", "/").Replace(probe.path)
		for segment := range strings.SplitSeq(strings.Trim(decoded, "/"), "/") {
			if depth++; segment == ".." {
				depth -= 2
			}
			if depth < 1 {
				t.Errorf("%s leaves the path of the Echo", probe.path)
			}
		}
	}
}
