package pathcheck

import (
	"net/http"
	"strings"
	"testing"
)

// TestForwarded reads the header Forwarded as RFC 7239 writes it.
func TestForwarded(t *testing.T) {
	of := func(lines ...string) *echo {
		return &echo{Method: http.MethodGet, Headers: http.Header{"Forwarded": lines}}
	}
	for text, want := range map[string]string{
		"for=192.0.2.123":                       yes,
		`for="192.0.2.123"`:                     yes,
		"For=192.0.2.123;by=10.0.0.1":           yes,
		"for=192.0.2.123, for=10.0.0.1":         "in front",
		"for=10.0.0.1, for=192.0.2.123":         yes,
		"for=10.0.0.1":                          no,
		`for=10.0.0.1;host="a,for=192.0.2.123"`: no,
		"":                                      no,
	} {
		expectValue(t, text, decideForgery(forgeries()[1], outcome{answer: &answer{echo: of(text)}}), want)
	}
	expectValue(t, "two lines", decideForgery(forgeries()[1], outcome{answer: &answer{echo: of("for=192.0.2.123", "for=10.0.0.1")}}), "in front")
	for text, want := range map[string]string{"for=10.0.0.1;proto=https": "told", `PROTO="https"`: "told", "proto=http": "wrong", "proto=httpsx": "wrong"} {
		expectValue(t, text, decideScheme("https", of(text)), want)
	}
}

// TestPathProbes_stayBelow checks that no path leads elsewhere, even if dot segments are resolved after escapes are decoded.
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
