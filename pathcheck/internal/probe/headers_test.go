package probe

import (
	"net/http"
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

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
