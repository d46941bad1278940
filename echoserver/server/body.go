package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/echo-operator/echo-operator/echoserver/connection"
)

const (
	// maxBody is the maximum size of a request body, in bytes.
	maxBody = 8 << 20
	// maxShown is how much of a body the response includes, in bytes.
	maxShown = 64 << 10
	// bodyTimeout is how long a client may take to send a body that is longer than maxShown. A shorter one has requestTimeout.
	bodyTimeout = 2 * time.Minute
	// bodyFactor is how often the beginning of a body is held besides the response: as read, and as text.
	bodyFactor = 2
	// restBuffer is the size of the buffer for the rest of a body, in bytes.
	restBuffer = 8 << 10
)

var errOverBudget = errors.New(connection.OverBudget)

// encodingBase64 is the encoding of a body that is not text.
const encodingBase64 = "base64"

// body describes the body of a request.
type body struct {
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	Data      string `json:"data"`
	Encoding  string `json:"encoding"` // of Data: utf-8 or base64
	Truncated bool   `json:"truncated,omitempty"`
}

// readBody reads the whole body of a request and keeps its beginning. It returns nil if the body is empty.
func readBody(e *exchange, r *http.Request) (*body, error) {
	if r.Body == http.NoBody {
		return nil, nil //nolint:nilnil // an empty body is not an error, and the response omits it
	}
	if r.ContentLength > maxBody && r.Header.Get("Expect") != "" { // the client has not sent the body yet
		return nil, &http.MaxBytesError{Limit: maxBody}
	}
	source := http.MaxBytesReader(e.ResponseWriter, r.Body, maxBody)
	beginning, err := readBeginning(source, e.take)
	if err != nil || len(beginning) == 0 {
		return nil, err
	}
	rest := source
	if len(beginning) < maxShown {
		rest = http.NoBody
	} else if !e.take(restBuffer) {
		return nil, errOverBudget
	}
	controller := http.NewResponseController(e)
	_ = controller.SetReadDeadline(e.began.Add(bodyTimeout)) // if it fails, reading fails too
	_ = controller.SetWriteDeadline(e.began.Add(bodyTimeout + responseTimeout))
	return digestBody(beginning, rest)
}

// readBeginning reads at most maxShown bytes. It takes what they hold from the budget as they arrive, because clients may announce more
// than they send.
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
		case len(beginning) == maxShown:
			return beginning, nil
		case len(beginning) == cap(beginning):
			larger := min(maxShown, 4*cap(beginning))
			if larger > connection.IncludedHeader && !take(int64(larger-cap(beginning))*bodyFactor) {
				return nil, errOverBudget
			}
			beginning = append(make([]byte, 0, larger), beginning...)
		}
	}
}

// digestBody describes a body by its beginning, and the rest if the beginning is not all of it.
func digestBody(beginning []byte, source io.Reader) (*body, error) {
	digest := sha256.New()
	digest.Write(beginning)
	rest := int64(0)
	if source != http.NoBody {
		var err error
		if rest, err = io.CopyBuffer(digest, source, make([]byte, restBuffer)); err != nil {
			return nil, err
		}
	}
	b := &body{Size: int64(len(beginning)) + rest, SHA256: hex.EncodeToString(digest.Sum(nil)), Truncated: rest > 0}
	b.Data, b.Encoding = shown(beginning, b.Truncated)
	return b, nil
}

// shown returns data as text, and its encoding. If text was truncated within a character, the incomplete character is dropped.
func shown(data []byte, isCut bool) (text, encoding string) {
	whole := data
	if isCut {
		whole = withoutPartialRune(data)
	}
	if utf8.Valid(whole) && !slices.ContainsFunc(data, isControl) {
		return string(whole), "utf-8"
	}
	return base64.StdEncoding.EncodeToString(data), encodingBase64
}

// isControl reports whether a byte is a control character that text does not contain. JSON would need six bytes for each.
func isControl(c byte) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }

func withoutPartialRune(data []byte) []byte {
	for back := 1; back <= min(utf8.UTFMax, len(data)); back++ {
		last := data[len(data)-back:]
		if utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return data[:len(data)-back]
			}
			return data
		}
	}
	return data
}

// unreadable responds to a request whose body could not be read.
func (h *handler) unreadable(e *exchange, err error) {
	tooLarge, isTooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case errors.Is(err, errOverBudget):
		h.exhausted(e)
	case isTooLarge:
		h.metrics.limited(limitBody)
		refuse(e, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		refuse(e, http.StatusRequestTimeout, "the body was not received in time")
	default:
		refuse(e, http.StatusBadRequest, "the body could not be read")
	}
}
