package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/echo-operator/echo-operator/echoserver/transport"
)

const (
	// MaxBody is the maximum size, in bytes, of a request body.
	MaxBody = 8 << 20
	// MaxShown is the maximum size, in bytes, of a body that the response includes in full.
	MaxShown = 64 << 10
	// bodyTimeout is the time limit for sending a body that is longer than MaxShown. The time limit for requests applies to shorter bodies.
	bodyTimeout = 2 * time.Minute
	// bodyFactor is how many copies of a body's beginning are in memory: the bytes as read, and the text. The response is not included.
	bodyFactor = 2
	// restBuffer is the size, in bytes, of the buffer for the rest of a body.
	restBuffer = 8 << 10
)

// ErrOverBudget reports that the budget does not allow a request or a message.
var ErrOverBudget = errors.New(transport.OverBudget)

// Body describes the body of a request.
type Body struct {
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	Data      string `json:"data"`
	Encoding  string `json:"encoding"` // of Data: utf-8 or base64
	Truncated bool   `json:"truncated,omitempty"`
}

// ReadBody reads the whole body of a request and keeps its beginning. It returns nil for an empty body.
func ReadBody(e *Exchange, r *http.Request) (*Body, error) {
	if r.Body == http.NoBody {
		return nil, nil //nolint:nilnil // an empty body is not an error, and the response omits it
	}
	if r.ContentLength > MaxBody && r.Header.Get("Expect") != "" { // the client has not sent the body yet
		return nil, &http.MaxBytesError{Limit: MaxBody}
	}
	source := http.MaxBytesReader(e.ResponseWriter, r.Body, MaxBody)
	beginning, err := readBeginning(source, e.Acquire)
	if err != nil || len(beginning) == 0 {
		return nil, err
	}
	mayHaveRest := len(beginning) == MaxShown
	if mayHaveRest && !e.Acquire(restBuffer) {
		return nil, ErrOverBudget
	}
	controller := http.NewResponseController(e)
	_ = controller.SetReadDeadline(e.Began.Add(bodyTimeout)) // if this fails, so does reading
	_ = controller.SetWriteDeadline(e.Began.Add(bodyTimeout + ResponseTimeout))
	digest := sha256.New()
	digest.Write(beginning)
	rest := int64(0)
	if mayHaveRest {
		if rest, err = io.CopyBuffer(digest, source, make([]byte, restBuffer)); err != nil {
			return nil, err
		}
	}
	b := &Body{Size: int64(len(beginning)) + rest, SHA256: hex.EncodeToString(digest.Sum(nil)), Truncated: rest > 0}
	b.Data, b.Encoding = shown(beginning, b.Truncated)
	return b, nil
}

// readBeginning reads at most MaxShown bytes. It acquires memory as bytes arrive, because clients may announce more than they send.
func readBeginning(source io.Reader, take func(int64) bool) ([]byte, error) {
	beginning := make([]byte, 0, 512)
	for {
		n, err := source.Read(beginning[len(beginning):cap(beginning)])
		beginning = beginning[:len(beginning)+n]
		switch {
		case errors.Is(err, io.EOF):
			return beginning, nil
		case err != nil:
			return nil, err
		case len(beginning) == MaxShown:
			return beginning, nil
		case len(beginning) == cap(beginning):
			larger := min(MaxShown, 4*cap(beginning))
			if larger > transport.IncludedHeader && !take(int64(larger-cap(beginning))*bodyFactor) {
				return nil, ErrOverBudget
			}
			beginning = append(make([]byte, 0, larger), beginning...)
		}
	}
}

// shown returns data as text, and the encoding of the text. If UTF-8 data was cut within a character, shown drops the incomplete character.
func shown(data []byte, isCut bool) (text, encoding string) {
	whole := data
	if isCut {
		whole = WithoutPartialRune(data)
	}
	// JSON would need six bytes for each control character and, in a page, for each character of markup. The control characters that occur in
	// text are shorter, and no text consists mostly of markup.
	isControl := func(c byte) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }
	markup := bytes.Count(data, []byte("<")) + bytes.Count(data, []byte(">")) + bytes.Count(data, []byte("&"))
	if utf8.Valid(whole) && markup <= max(4<<10, len(data)/2) && !slices.ContainsFunc(data, isControl) {
		return string(whole), "utf-8"
	}
	return base64.StdEncoding.EncodeToString(data), "base64"
}

// WithoutPartialRune returns data without an incomplete character at its end.
func WithoutPartialRune(data []byte) []byte {
	for back := 1; back <= min(utf8.UTFMax, len(data)); back++ {
		if last := data[len(data)-back:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return data[:len(data)-back]
			}
			break
		}
	}
	return data
}
