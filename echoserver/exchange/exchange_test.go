package exchange

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestNew_choosesID(t *testing.T) {
	generated, seen := regexp.MustCompile("^[89a-f][0-9a-f]{15}$"), map[string]bool{}
	for name, c := range map[string]struct {
		headers http.Header
		taken   string // empty if the server generates the ID
	}{
		"none":                 {nil, ""},
		"the longest":          {http.Header{"X-Request-Id": {strings.Repeat("x", maxRequestID)}}, strings.Repeat("x", 128)},
		"too long":             {http.Header{"X-Request-Id": {strings.Repeat("x", maxRequestID+1)}}, ""},
		"the first of several": {http.Header{"X-Request-Id": {"a", "b"}}, "a"},
		"of another header":    {http.Header{"X-Correlation-Id": {"a"}}, ""},
	} {
		got := New(nil, &http.Request{Header: c.headers}).ID
		if c.taken != "" && got != c.taken || c.taken == "" && !generated.MatchString(got) {
			t.Errorf("%s: the ID is %q, want %q", name, got, c.taken)
		}
		if seen[got] {
			t.Errorf("%s: the ID %q is there twice", name, got)
		}
		seen[got] = true
	}
}

func TestStatusOrOK(t *testing.T) {
	for name, c := range map[string]struct {
		handle  func(*Exchange)
		status  int
		written int64
	}{
		"nothing":  {func(*Exchange) {}, 200, 0},
		"a status": {func(e *Exchange) { e.WriteHeader(http.StatusServiceUnavailable) }, 503, 0},
		"only the first status": {func(e *Exchange) { e.WriteHeader(http.StatusNotFound); e.WriteHeader(http.StatusInternalServerError) }, 404,
			0},
		"a body without a status": {func(e *Exchange) { _, _ = e.Write([]byte("hello")) }, 200, 5},
		"a status after the body": {func(e *Exchange) { _, _ = e.Write([]byte("a")); e.WriteHeader(http.StatusInternalServerError) }, 200, 1},
		"a reason for a refusal":  {func(e *Exchange) { Reject(e, 400, "why") }, 400, 17},
	} {
		e := New(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		c.handle(e)
		if e.StatusOrOK() != c.status || e.written != c.written {
			t.Errorf("%s: the status is %d with %d bytes, want %d with %d", name, e.StatusOrOK(), e.written, c.status, c.written)
		}
	}
}

func TestShown(t *testing.T) {
	markup := strings.Repeat("<&>&", 1250)
	for name, c := range map[string]struct {
		data           string
		isCut          bool
		text, encoding string
	}{
		"text":                {"añb", false, "añb", "utf-8"},
		"bytes":               {"a\xffb", false, base64.StdEncoding.EncodeToString([]byte("a\xffb")), "base64"},
		"cut within a rune":   {"a\xe2\x82", true, "a", "utf-8"},
		"ends within a rune":  {"a\xe2\x82", false, base64.StdEncoding.EncodeToString([]byte("a\xe2\x82")), "base64"},
		"cut bytes":           {"\xff\xfe\xe2", true, base64.StdEncoding.EncodeToString([]byte("\xff\xfe\xe2")), "base64"},
		"mostly markup":       {markup + "a", false, base64.StdEncoding.EncodeToString([]byte(markup + "a")), "base64"},
		"half markup":         {markup + strings.Repeat("a", 5000), false, markup + strings.Repeat("a", 5000), "utf-8"},
		"short markup":        {markup[:4096], false, markup[:4096], "utf-8"},
		"an escape character": {"a\x1b[0m", false, base64.StdEncoding.EncodeToString([]byte("a\x1b[0m")), "base64"},
		"lines and tabs":      {"a\tb\r\nc\x7f", false, "a\tb\r\nc\x7f", "utf-8"},
	} {
		if text, encoding := shown([]byte(c.data), c.isCut); text != c.text || encoding != c.encoding {
			t.Errorf("%s: %q in %s", name, text, encoding)
		}
	}
}

// TestReadBody_truncatesAtLimit reads bodies whose sizes are close to MaxShown, and bodies in which a character straddles the limit.
func TestReadBody_truncatesAtLimit(t *testing.T) {
	const limit = 64 << 10
	base := strings.Repeat("x", limit-4)
	for name, c := range map[string]struct {
		sent, data, encoding string
		truncated            bool
	}{
		"the limit":                     {base + "abcd", base + "abcd", "utf-8", false},
		"one byte more":                 {base + "abcde", base + "abcd", "utf-8", true},
		"a whole character, and more":   {base + "\U0001f600e", base + "\U0001f600", "utf-8", true},
		"all but the first byte across": {base + "abc\U0001f600", base + "abc", "utf-8", true},
		"continuations without a start": {base + "\x80\x80\x80\x80x", base + "\x80\x80\x80\x80", "base64", true},
	} {
		digest := sha256.Sum256([]byte(c.sent))
		want := Body{Size: int64(len(c.sent)), SHA256: hex.EncodeToString(digest[:]), Data: c.data, Encoding: c.encoding, Truncated: c.truncated}
		if c.encoding == "base64" {
			want.Data = base64.StdEncoding.EncodeToString([]byte(c.data))
		}
		broken := errors.New("broken")
		if _, err := digested(io.MultiReader(strings.NewReader(c.sent), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("%s, broken: %v", name, err)
		}
		got, err := digested(iotest.HalfReader(strings.NewReader(c.sent)))
		if err != nil || got == nil || *got != want {
			t.Errorf("%s: %v, or the echo of the body of %d bytes differs", name, err, len(c.sent))
		}
	}
}

// digested reads and describes a body without a budget.
func digested(source io.Reader) (*Body, error) {
	r := httptest.NewRequest(http.MethodPost, "/", source)
	return ReadBody(New(httptest.NewRecorder(), r), r)
}

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

// TestLogAccess_showsPathAsReceived checks that the log contains paths as they were received, without queries or passwords.
func TestLogAccess_showsPathAsReceived(t *testing.T) {
	for target, want := range map[string]string{
		"/a%2fb?k=hunter2":                 "/a%2fb",
		"/%61%0a%1b":                       "/%61%0a%1b",
		"/caf\xc3\xa9":                     "/caf\u00e9",
		"/caf\xe9":                         `/caf\xe9`,
		"/\xc2\x9b2J":                      `/\u009b2J`,
		"http://u:hunter2@a/b%2Fc?hunter2": "/b%2Fc",
		"http://u:hunter2@a?hunter2":       "",
		"hunter2:a":                        "",
	} {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET " + target + " HTTP/1.1\r\nHost: a\u202e\r\n\r\n")))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "a\u202e" // instead of the host in the target
		r.Header.Set("X-Request-Id", "\u009b2J")
		var log bytes.Buffer
		LogAccess(slog.New(slog.NewJSONHandler(&log, nil)), New(httptest.NewRecorder(), r), r)
		var line struct{ ID, Path, Host string }
		if err := json.Unmarshal(log.Bytes(), &line); err != nil || line.Path != want || line.Host != `a\u202e` || line.ID != `\u009b2J` ||
			strings.Contains(log.String(), "hunter2") {
			t.Errorf("%q: the line is %s, %v, want %q", target, &log, err, want)
		}
	}
}

// TestDelays delays one fewer response than the limit allows, then one more, and responses that end early.
func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ending := make(chan struct{})
		var rejected []string
		d := &Delays{Ending: ending, Rejected: func(reason string) { rejected = append(rejected, reason) }}
		await := func(ctx context.Context, delay time.Duration, limit int64) (time.Duration, error) {
			e := New(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
			e.Pool = &transport.Pool{Limit: limit}
			defer func() {
				if e.End(); e.Pool.Used.Load() != 0 {
					t.Errorf("%d bytes are held", e.Pool.Used.Load())
				}
			}()
			began := time.Now()
			err := d.Await(ctx, e, delay)
			return time.Since(began), err
		}
		expect := func(name string, took time.Duration, err error, want time.Duration, wantErr error) {
			t.Helper()
			if took != want || !errors.Is(err, wantErr) {
				t.Errorf("%s: after %s comes %v, want %v after %s", name, took, err, wantErr, want)
			}
		}
		d.Waiting.Store(MaxWaiting - 1)
		go func() { _, _ = await(t.Context(), time.Second, 1<<20) }()
		synctest.Wait()
		took, err := await(t.Context(), 1, 1<<20)
		expect("one over the limit", took, err, 0, ErrTooManyDelays)
		took, err = await(t.Context(), 0, 0)
		expect("no delay", took, err, 0, nil)
		<-time.After(time.Second)
		synctest.Wait()
		took, err = await(t.Context(), MaxWaiting, 1<<20)
		expect("after the first delay", took, err, MaxWaiting, nil)
		took, err = await(t.Context(), 1, WaitingCost)
		expect("no memory", took, err, 0, ErrOverBudget)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		took, err = await(ctx, time.Hour, 1<<20)
		expect("the client leaves", took, err, time.Minute, context.DeadlineExceeded)
		time.AfterFunc(time.Minute, func() { close(ending) })
		took, err = await(t.Context(), time.Hour, 1<<20)
		expect("the server stops", took, err, time.Minute, nil)
		if d.Waiting.Load() != MaxWaiting-1 || !slices.Equal(rejected, []string{LimitDelays}) {
			t.Errorf("%d wait, rejected are %q", d.Waiting.Load(), rejected)
		}
	})
}

// TestReadBody checks what a response shows of a body, and how much memory the body holds.
func TestReadBody(t *testing.T) {
	for size, limit := range map[int]int64{0: 0, 5: 1 << 20, MaxShown + 1: 1 << 20, MaxShown: 1000} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(echotest.Payload(size)))
		e := New(httptest.NewRecorder(), r)
		e.Pool = &transport.Pool{Limit: limit}
		body, err := ReadBody(e, r)
		switch isOver := size > int(limit); {
		case isOver && !errors.Is(err, ErrOverBudget), !isOver && err != nil, (body == nil) != (isOver || size == 0),
			body != nil && (body.Size != int64(size) || body.Data != echotest.Payload(min(size, MaxShown))):
			t.Errorf("%d bytes: %v, %.200v", size, err, body)
		}
		if e.End(); e.Pool.Used.Load() != 0 {
			t.Errorf("%d bytes: %d are held", size, e.Pool.Used.Load())
		}
	}
}
