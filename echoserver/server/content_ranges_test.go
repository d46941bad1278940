package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestContent_servesSingleRanges requests ranges of a 100-byte response.
func TestContent_servesSingleRanges(t *testing.T) {
	h := handlerOf(t)
	whole := echotest.Record(h, "/?echo.size=100").Body.String()
	for text, want := range map[string]string{
		"bytes=0-9": whole[:10], "bytes=90-": whole[90:], "bytes=-5": whole[95:], "bytes=10-1000": whole[10:], "bytes=-1000": whole,
		"bytes=99-99": whole[99:],
		"bytes=100-":  "416", "bytes=1000-2000": "416",
		"bytes=5-4": "416", "bytes=a-b": "416",
		"": "200", "bytes=": "200", "bytes=0-1,5-6": "200", "lines=0-1": "200",
	} {
		w := echotest.Record(h, "/?echo.size=100", "Range", text)
		switch {
		case want == "200" && (w.Code != http.StatusOK || w.Body.String() != whole || w.Header().Get("Content-Range") != ""),
			want == "416" && (w.Code != http.StatusRequestedRangeNotSatisfiable || strings.Contains(w.Body.String(), whole[:5])),
			len(want) != 3 && (w.Code != http.StatusPartialContent || w.Body.String() != want ||
				!strings.HasSuffix(w.Header().Get("Content-Range"), "/100")):
			t.Errorf("%q: %d with %q and %q", text, w.Code, w.Header(), w.Body)
		}
	}
}

// TestContent_ignoresRangesOfOtherResponses sends range requests for responses that do not support ranges.
func TestContent_ignoresRangesOfOtherResponses(t *testing.T) {
	h := handlerOf(t)
	for _, target := range []string{"/", "/?echo.size=100&echo.status=404", "/-/livez"} {
		if w := echotest.Record(h, target, "Range", "bytes=0-1"); w.Code == http.StatusPartialContent || w.Header().Get("Accept-Ranges") != "" {
			t.Errorf("%s: %d with %q", target, w.Code, w.Header())
		}
	}
	if w := echotest.Record(h, "/?echo.size=100", "Range", "bytes=0-1", "If-Range", `"a"`); w.Code != http.StatusOK || w.Body.Len() != 100 {
		t.Errorf("with If-Range: %d with %d bytes", w.Code, w.Body.Len())
	}
}
