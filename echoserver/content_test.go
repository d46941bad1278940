package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestContentPrecedence sends requests for several contents at once.
func TestContentPrecedence(t *testing.T) {
	fixed := []string{"ECHO_RESPONSE_BODY=fixed"}
	for name, c := range map[string]struct {
		environ   []string
		target    string
		accept    string
		mediaType string
		begin     string
	}{
		"the echo":                            {nil, "/", "", "application/json", "{\n \"path\": \"/\",\n"},
		"by Accept":                           {nil, "/", "text/plain", plainText, "GET / HTTP/1.1\n"},
		"a page by Accept":                    {nil, "/", "text/html", pageType, "<!doctype html>\n"},
		"the format before Accept":            {nil, "/?echo.format=json", "text/html", "application/json", "{\n"},
		"the format before another Accept":    {nil, "/?echo.format=text", "application/json", plainText, "GET "},
		"a size before the format":            {nil, "/?echo.format=html&echo.size=3", "", plainText, "012"},
		"a size before Accept":                {nil, "/?echo.size=3", "text/html", plainText, "012"},
		"a size of zero is not the echo":      {nil, "/?echo.size=0", "", plainText, ""},
		"a fixed body before Accept":          {fixed, "/", "text/html", plainText, "fixed"},
		"a fixed body before the format":      {fixed, "/?echo.format=json", "", plainText, "fixed"},
		"a size before a fixed body":          {fixed, "/?echo.size=3", "", plainText, "012"},
		"a size of zero before a fixed body":  {fixed, "/?echo.size=0", "", plainText, ""},
		"an Accept for nothing that there is": {nil, "/", "image/png", "application/json", "{\n"},
	} {
		w := answered(handlerOf(t, c.environ...), c.target, "Accept", c.accept)
		if got := w.Header().Get("Content-Type"); got != c.mediaType {
			t.Errorf("%s: the type is %s, want %s", name, got, c.mediaType)
		}
		isWhole := c.environ != nil || strings.Contains(c.target, "size")
		if body := w.Body.String(); !strings.HasPrefix(body, c.begin) || isWhole && body != c.begin {
			t.Errorf("%s: the body is %q", name, body)
		}
		if got := w.Header().Get("Content-Length"); got != strconv.Itoa(w.Body.Len()) {
			t.Errorf("%s: announced are %s bytes, there are %d", name, got, w.Body.Len())
		}
		if isPage := c.mediaType == pageType; isPage == (w.Header().Get("Content-Security-Policy") == sandbox) {
			t.Errorf("%s: the policy is %s", name, w.Header().Get("Content-Security-Policy"))
		}
	}
}

// pieceWriter records the sizes of what is written, and fails when it is full.
type pieceWriter struct {
	room   int
	pieces []int
}

var errFull = errors.New("full")

func (w *pieceWriter) Write(data []byte) (int, error) {
	n := min(len(data), w.room)
	w.room -= n
	w.pieces = append(w.pieces, n)
	if n < len(data) {
		return n, errFull
	}
	return n, nil
}

func TestFillerPieces(t *testing.T) {
	const piece = 4 << 10
	for name, c := range map[string]struct {
		size, room int
		want       []int
		err        error
	}{
		"nothing":                {0, 0, nil, nil},
		"a byte":                 {1, 1, []int{1}, nil},
		"less than a piece":      {piece - 1, maxSize, []int{piece - 1}, nil},
		"a piece":                {piece, maxSize, []int{piece}, nil},
		"more than a piece":      {piece + 1, maxSize, []int{piece, 1}, nil},
		"fails in the first":     {2 * piece, 5, []int{5}, errFull},
		"fails in the second":    {3 * piece, piece + 7, []int{piece, 7}, errFull},
		"fails between pieces":   {2 * piece, piece, []int{piece, 0}, errFull},
		"room for no byte more":  {piece + 5, piece + 5, []int{piece, 5}, nil},
		"fails at the last byte": {piece + 5, piece + 4, []int{piece, 4}, errFull},
	} {
		w := &pieceWriter{room: c.room}
		n, err := filler{0, c.size}.WriteTo(w)
		total := int64(0)
		for _, each := range w.pieces {
			total += int64(each)
		}
		if diff := cmp.Diff(c.want, w.pieces); diff != "" || n != total || !errors.Is(err, c.err) {
			t.Errorf("%s: %d bytes, %v; pieces (-want +got):\n%s", name, n, err, diff)
		}
	}
}

// TestFillerText checks that the text continues over the pieces as lines of 64 bytes.
func TestFillerText(t *testing.T) {
	const line = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-\n"
	if want := strings.Repeat(line, 1537)[:98305]; answered(handlerOf(t), "/?echo.size=98305").Body.String() != want {
		t.Error("it is not the same line throughout")
	}
}

// TestContentWriteDeadline checks that only responses over 64 KiB have a time limit, and which.
func TestContentWriteDeadline(t *testing.T) {
	for size, limited := range map[int]bool{0: false, 65535: false, 65536: false, 65537: true, maxSize: true} {
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

// TestContentOfStatus checks which statuses have a body and which headers describe it.
func TestContentOfStatus(t *testing.T) {
	h := handlerOf(t)
	for status, hasBody := range map[int]bool{200: true, 201: true, 203: true, 204: false, 205: false, 206: true, 301: true, 303: true, 304: false, 305: true,
		400: true, 404: true, 500: true, 503: true, 599: true} {
		for _, more := range []string{"", "&echo.size=100", "&echo.format=html"} {
			w := answered(h, "/?echo.status="+strconv.Itoa(status)+more)
			header := w.Header()
			if w.Code != status || (w.Body.Len() > 0) != hasBody || (header.Get("Content-Type") != "") != hasBody || (header.Get("Content-Length") != "") != hasBody {
				t.Errorf("%d%s: the status is %d, there are %d bytes, the headers are %v", status, more, w.Code, w.Body.Len(), header)
			}
			if !strings.HasPrefix(header.Get("X-Echo-Applied"), "status="+strconv.Itoa(status)) {
				t.Errorf("%d%s: applied is %q", status, more, header.Get("X-Echo-Applied"))
			}
		}
	}
}
