package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/exchange"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestContent requests several kinds of content at once.
func TestContent(t *testing.T) {
	fixed := []string{"ECHO_RESPONSE_BODY=fixed"}
	for name, c := range map[string]struct {
		environ   []string
		target    string
		accept    string
		mediaType string
		begin     string
	}{
		"the echo":                            {nil, "/", "", "application/json", "{\n \"path\": \"/\",\n"},
		"by Accept":                           {nil, "/", "text/plain", transport.PlainText, "GET / HTTP/1.1\n"},
		"a page by Accept":                    {nil, "/", "text/html", describe.PageType, "<!doctype html>\n"},
		"the format before Accept":            {nil, "/?echo.format=json", "text/html", "application/json", "{\n"},
		"the format before another Accept":    {nil, "/?echo.format=text", "application/json", transport.PlainText, "GET "},
		"a size before the format":            {nil, "/?echo.format=html&echo.size=3", "", transport.PlainText, "012"},
		"a size before Accept":                {nil, "/?echo.size=3", "text/html", transport.PlainText, "012"},
		"a size of zero is not the echo":      {nil, "/?echo.size=0", "", transport.PlainText, ""},
		"a fixed body before Accept":          {fixed, "/", "text/html", transport.PlainText, "fixed"},
		"a fixed body before the format":      {fixed, "/?echo.format=json", "", transport.PlainText, "fixed"},
		"a size before a fixed body":          {fixed, "/?echo.size=3", "", transport.PlainText, "012"},
		"a size of zero before a fixed body":  {fixed, "/?echo.size=0", "", transport.PlainText, ""},
		"an Accept for nothing that there is": {nil, "/", "image/png", "application/json", "{\n"},
	} {
		w := echotest.Record(handlerOf(t, c.environ...), c.target, "Accept", c.accept)
		if got := w.Header().Get("Content-Type"); got != c.mediaType {
			t.Errorf("%s: the type is %s, want %s", name, got, c.mediaType)
		}
		isWhole := c.environ != nil || strings.Contains(c.target, "size")
		if body := w.Body.String(); !strings.HasPrefix(body, c.begin) || isWhole && body != c.begin {
			t.Errorf("%s: the body is %q", name, body)
		}
		if got := w.Header().Get("Content-Length"); got != strconv.Itoa(w.Body.Len()) {
			t.Errorf("%s: %s bytes are announced, %d bytes are received", name, got, w.Body.Len())
		}
		if isPage := c.mediaType == describe.PageType; isPage == (w.Header().Get("Content-Security-Policy") == exchange.Sandbox) {
			t.Errorf("%s: the policy is %s", name, w.Header().Get("Content-Security-Policy"))
		}
	}
}

func TestFiller(t *testing.T) {
	for _, size := range []int64{0, 1, 63, 64, 65, 512, 513, 5000} {
		text := io.NewSectionReader(filler{}, 0, size)
		whole, err := io.ReadAll(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(io.NewSectionReader(filler{}, 0, size), whole); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestFiller_repeatsOneLine checks that text read in pieces is continuous, with lines of 64 bytes.
func TestFiller_repeatsOneLine(t *testing.T) {
	const line = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"
	if want := strings.Repeat(line, 1537)[:98305]; echotest.Record(handlerOf(t), "/?echo.size=98305").Body.String() != want {
		t.Error("it is not the same line throughout")
	}
}

// TestContent_setsDeadlineOnlyIfLong checks that only responses over 64 KiB get a write deadline, and that the deadline is correct.
func TestContent_setsDeadlineOnlyIfLong(t *testing.T) {
	for size, limited := range map[int]bool{0: false, 65535: false, 65536: false, 65537: true, controls.MaxSize: true} {
		synctest.Test(t, func(t *testing.T) {
			w := newStreamWriter()
			handlerOf(t).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/?echo.size="+strconv.Itoa(size), http.NoBody))
			var want []time.Time
			if limited {
				want = []time.Time{time.Now().Add(2 * time.Minute)}
			}
			if diff := cmp.Diff(want, w.writes); diff != "" || w.Body.Len() != size {
				t.Errorf("%d bytes, want %d; deadlines (-want +got):\n%s", w.Body.Len(), size, diff)
			}
		})
	}
}

// TestContent_hasBodyIfStatusAllows checks which status codes allow a body, and which headers describe the body.
func TestContent_hasBodyIfStatusAllows(t *testing.T) {
	h := handlerOf(t)
	for status, hasBody := range map[int]bool{200: true, 201: true, 203: true, 204: false, 205: false, 206: true, 301: true, 303: true,
		304: false, 305: true,
		400: true, 404: true, 500: true, 503: true, 599: true} {
		for _, more := range []string{"", "&echo.size=100", "&echo.format=html"} {
			w := echotest.Record(h, "/?echo.status="+strconv.Itoa(status)+more)
			header := w.Header()
			if w.Code != status || (w.Body.Len() > 0) != hasBody || (header.Get("Content-Type") != "") != hasBody ||
				(header.Get("Content-Length") != "") != hasBody {
				t.Errorf("%d%s: the status is %d, there are %d bytes, the headers are %v", status, more, w.Code, w.Body.Len(), header)
			}
			if !strings.HasPrefix(header.Get("X-Echo-Applied"), "status="+strconv.Itoa(status)) {
				t.Errorf("%d%s: the applied controls are %q", status, more, header.Get("X-Echo-Applied"))
			}
		}
	}
}

// TestHandler_supportsHeadOfEachRoute sends HEAD requests wherever GET is supported. Each response must have the status and media type of
// the response to GET, and must end (RFC 9110, 9.3.2).
func TestHandler_supportsHeadOfEachRoute(t *testing.T) {
	h := handlerOf(t)
	public, admin := serve(t, h).URL, serve(t, newAdmin(h.life, h.metrics)).URL
	for proto, client := range echotest.Clients(t) {
		for _, url := range []string{public + "/", public + "/a?echo.size=5", public + "/?echo.status=503", public + "/?echo.format=html",
			public + "/-/livez", public + "/-/readyz", public + "/-/body", public + "/-/body?digest", public + "/-/ws", public + "/-/sse",
			public + "/shop/-/sse", public + "/-/unknown", admin + "/metrics", admin + "/livez"} {
			get := echotest.Open(t, client, http.MethodGet, url, http.NoBody) // not read to the end, because event streams do not end
			head := echotest.Send(t, client, http.MethodHead, url, "")
			mediaType := head.Header.Get("Content-Type")
			if head.StatusCode != get.StatusCode || mediaType != get.Header.Get("Content-Type") || head.Text != "" {
				t.Errorf("%s, %s: %d with type %q and %q", proto, url, head.StatusCode, mediaType, head.Text)
			}
			_ = get.Body.Close()
		}
		for _, path := range []string{"/-/ws", "/-/sse"} {
			got := echotest.Send(t, client, http.MethodPost, public+path, "")
			if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s, POST %s: %d, Allow %q", proto, path, got.StatusCode, got.Header.Get("Allow"))
			}
		}
	}
	got := echotest.Send(t, echotest.Clients(t)["HTTP/1.1"], http.MethodHead, public+"/-/ws", "", "Connection", "Upgrade",
		"Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==")
	if got.StatusCode != http.StatusOK {
		t.Errorf("HEAD with a handshake: %d", got.StatusCode)
	}
}

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
