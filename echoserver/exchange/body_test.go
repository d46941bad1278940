package exchange

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestShown(t *testing.T) {
	for name, c := range map[string]struct {
		data           string
		isCut          bool
		text, encoding string
	}{
		"text":                {"añb", false, "añb", "utf-8"},
		"bytes":               {"a\xffb", false, base64.StdEncoding.EncodeToString([]byte("a\xffb")), "base64"},
		"cut within a rune":   {"a\xe2\x82", true, "a", "utf-8"},
		"cut between runes":   {"a\xe2\x82\xac", true, "a\xe2\x82\xac", "utf-8"},
		"ends within a rune":  {"a\xe2\x82", false, base64.StdEncoding.EncodeToString([]byte("a\xe2\x82")), "base64"},
		"cut bytes":           {"\xff\xfe\xe2", true, base64.StdEncoding.EncodeToString([]byte("\xff\xfe\xe2")), "base64"},
		"a zero byte":         {"\x00", false, "AA==", "base64"}, // JSON would need six bytes for each zero byte
		"an escape character": {"a\x1b[0m", false, base64.StdEncoding.EncodeToString([]byte("a\x1b[0m")), "base64"},
		"lines and tabs":      {"a\tb\r\nc\x7f", false, "a\tb\r\nc\x7f", "utf-8"},
	} {
		if text, encoding := shown([]byte(c.data), c.isCut); text != c.text || encoding != c.encoding {
			t.Errorf("%s: %q in %s", name, text, encoding)
		}
	}
}

func TestDigestBody_returnsReadErrors(t *testing.T) {
	broken := errors.New("broken")
	for _, size := range []int{0, 10, MaxShown + 10} {
		if _, err := digested(io.MultiReader(strings.NewReader(echotest.Payload(size)), iotest.ErrReader(broken))); !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", size, err)
		}
	}
}

// TestDigestBody_truncatesAtLimit reads bodies whose sizes are close to MaxShown, and bodies in which a character straddles the limit.
func TestDigestBody_truncatesAtLimit(t *testing.T) {
	const limit = 64 << 10
	base := strings.Repeat("x", limit-4)
	for name, c := range map[string]struct {
		sent, data, encoding string
		truncated            bool
	}{
		"one byte less":                  {base + "abc", base + "abc", "utf-8", false},
		"the limit":                      {base + "abcd", base + "abcd", "utf-8", false},
		"one byte more":                  {base + "abcde", base + "abcd", "utf-8", true},
		"a whole character at the limit": {base + "\U0001f600", base + "\U0001f600", "utf-8", false},
		"a whole character, and more":    {base + "\U0001f600e", base + "\U0001f600", "utf-8", true},
		"the last byte across it":        {base + "a\U0001f600", base + "a", "utf-8", true},
		"all but the first byte across":  {base + "abc\U0001f600", base + "abc", "utf-8", true},
		"half of a character at the end": {base + "ab\xc3", base + "ab\xc3", "base64", false},
		"continuations without a start":  {base + "\x80\x80\x80\x80x", base + "\x80\x80\x80\x80", "base64", true},
		"bytes that are not at the end":  {"\xff" + base + "abc" + "xyz", "\xff" + base + "abc", "base64", true},
	} {
		digest := sha256.Sum256([]byte(c.sent))
		want := Body{Size: int64(len(c.sent)), SHA256: hex.EncodeToString(digest[:]), Data: c.data, Encoding: c.encoding, Truncated: c.truncated}
		if c.encoding == "base64" {
			want.Data = base64.StdEncoding.EncodeToString([]byte(c.data))
		}
		got, err := digested(iotest.HalfReader(strings.NewReader(c.sent)))
		if err != nil || got == nil || *got != want {
			t.Errorf("%s: %v, or the echo of the body of %d bytes differs", name, err, len(c.sent))
		}
	}
}

// digested reads and describes a body as ReadBody does, but without a budget.
func digested(source io.Reader) (*Body, error) {
	beginning, err := readBeginning(source, func(int64) bool { return true })
	if err != nil || len(beginning) < MaxShown {
		source = http.NoBody
	}
	if err != nil {
		return nil, err
	}
	return digestBody(beginning, source)
}
