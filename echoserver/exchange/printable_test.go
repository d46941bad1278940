package exchange

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzRawPath checks that the logged text contains no query, no user, and no character that a terminal acts on.
func FuzzRawPath(f *testing.F) {
	for _, target := range []string{"/a%2Fb?k=hunter2", "http://u:hunter2@a/b%20c?d", "*", "/caf\xe9",
		"/\u009b2J", "/\u202e", "a:b", "a:/b", "a:b/c", "//a/b", "/a?b?c", "/;k=v#f"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")))
		if err != nil {
			t.Skip("net/http rejects it")
		}
		raw := rawPath(r)
		if strings.Contains(raw, "?") || raw != "" && !strings.HasPrefix(raw, "/") && raw != "*" || raw == "" && r.URL.Path != "" ||
			!strings.Contains(target, raw) {
			t.Errorf("the path of %q is %q", target, raw)
		}
		shown := printable(raw)
		if !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(char rune) bool { return unicode.In(char, unicode.Cc, unicode.Cf) }) {
			t.Errorf("the path %q is shown as %q", raw, shown)
		}
	})
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"/a%2Fb%0a":               "/a%2Fb%0a",
		"/\"\\é漢\U0001f600":       "/\"\\é漢\U0001f600",
		"\x00\x1b[2J\x7f":         `\u0000\u001b[2J\u007f`,
		"a\u009b2J\u202eb\u2066":  `a\u009b2J\u202eb\u2066`,
		"caf\xe9":                 `caf\xe9`,
		"\ufffd":                  `\ufffd`,
		strings.Repeat("x", 2000): strings.Repeat("x", MaxLogged),
	} {
		if got := printable(text); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}
