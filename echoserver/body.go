package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
	"unicode/utf8"
)

const (
	// maxBody is the maximum size of a request body, in bytes.
	maxBody = 8 << 20
	// maxShown is how much of a body the response includes, in bytes.
	maxShown = 64 << 10
	// bodyTimeout is how long a client may take to send a body.
	bodyTimeout = 2 * time.Minute
)

// body describes the body of a request.
type body struct {
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	Data      string `json:"data"`
	Encoding  string `json:"encoding"` // of Data: utf-8 or base64
	Truncated bool   `json:"truncated,omitempty"`
}

// readBody reads the whole body of a request and keeps its beginning. It returns nil if the body is empty.
func readBody(w http.ResponseWriter, r *http.Request) (*body, error) {
	if r.Body == http.NoBody {
		return nil, nil //nolint:nilnil // an empty body is not an error, and the response omits it
	}
	if r.ContentLength > maxBody && r.Header.Get("Expect") != "" { // the client has not sent the body yet
		return nil, &http.MaxBytesError{Limit: maxBody}
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout)) // if it fails, reading fails too
	return digestBody(http.MaxBytesReader(w, r.Body, maxBody))
}

func digestBody(source io.Reader) (*body, error) {
	beginning, err := io.ReadAll(io.LimitReader(source, maxShown))
	if err != nil || len(beginning) == 0 {
		return nil, err
	}
	digest := sha256.New()
	digest.Write(beginning)
	rest := int64(0)
	if len(beginning) == maxShown {
		if rest, err = io.Copy(digest, source); err != nil {
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
	if utf8.Valid(whole) {
		return string(whole), "utf-8"
	}
	return base64.StdEncoding.EncodeToString(data), "base64"
}

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
	case isTooLarge:
		h.metrics.limited(limitBody)
		refuse(e, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		refuse(e, http.StatusRequestTimeout, "the body was not received in time")
	default:
		refuse(e, http.StatusBadRequest, "the body could not be read")
	}
}
