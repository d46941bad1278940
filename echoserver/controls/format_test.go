package controls

import (
	"testing"
)

func TestAcceptedFormat(t *testing.T) {
	for accept, want := range map[string]format{
		"":                   JSON,
		"*/*":                JSON,
		"application/json":   JSON,
		"text/plain":         Text,
		"text/html":          HTML,
		"text/*":             Text,
		"TEXT/HTML":          HTML,
		"image/png":          JSON,
		"text/html, */*":     JSON,
		"text/html;q=0, */*": JSON,
		"text/html;q=0.9, application/json;q=0.8":                         HTML,
		"text/html ; q=0.9 , text/plain ; q=0.95":                         Text,
		"application/json, text/plain, */*":                               JSON,
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": HTML, // Firefox
		// Chromium
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7": HTML,
		"text/html;q=nonsense, text/plain;q=0.1":   Text,
		"text/html;q=NaN":                          JSON,
		"text/html;level=1;q=0.4, text/plain;q=.3": HTML,
	} {
		if got := AcceptedFormat([]string{accept}); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
	if got := AcceptedFormat([]string{"text/plain;q=0.5", "text/html"}); got != HTML {
		t.Errorf("two headers: %s", got)
	}
}
