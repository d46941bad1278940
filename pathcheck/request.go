package pathcheck

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field is a line of a header.
type field struct{ name, value string }

func (f field) String() string { return f.name + ": " + f.value }

// request is a request of HTTP/1.1 that is sent as it is written here.
type request struct {
	method   string // GET if it is empty
	path     string // below that of the Echo, with the query
	fields   []field
	body     []byte
	chunked  bool
	trailers []field
	timeout  time.Duration // that of most requests if it is 0
	nonce    string        // a new one if it is empty
}

func newNonce() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// has reports whether a request has a field of this name.
func (r *request) has(name string) bool {
	return slices.ContainsFunc(r.fields, func(f field) bool { return strings.EqualFold(f.name, name) })
}

func (r *request) methodOrGet() string { return cmp.Or(r.method, "GET") }

// header returns the header as bytes. The connection is closed after each request, so that they do not affect each other.
func (r *request) header(t *target, check field, agent string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s%s HTTP/1.1\r\nHost: %s\r\n", r.methodOrGet(), t.base, r.path, t.host)
	fields := []field{check, {"User-Agent", agent}, {"Accept", "application/json"}, {"Connection", "close"}}
	if r.chunked {
		fields = append(fields, field{"Transfer-Encoding", "chunked"})
	} else if len(r.body) > 0 {
		fields = append(fields, field{"Content-Length", strconv.Itoa(len(r.body))})
	}
	for _, each := range fields {
		if !r.has(each.name) {
			fmt.Fprintf(&b, "%s\r\n", each)
		}
	}
	for _, each := range r.fields {
		fmt.Fprintf(&b, "%s\r\n", each)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// writeBody writes the body and the trailers.
func (r *request) writeBody(w io.Writer) error {
	if !r.chunked {
		_, err := w.Write(r.body)
		return err
	}
	if err := writeChunk(w, r.body); err != nil {
		return err
	}
	return endChunks(w, r.trailers)
}

func writeChunk(w io.Writer, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%x\r\n%s\r\n", len(data), data)
	return err
}

func endChunks(w io.Writer, trailers []field) error {
	var b strings.Builder
	b.WriteString("0\r\n")
	for _, each := range trailers {
		fmt.Fprintf(&b, "%s\r\n", each)
	}
	_, err := io.WriteString(w, b.String()+"\r\n")
	return err
}

// filler returns a body of a size.
func filler(size int) []byte { return bytes.Repeat([]byte("pathcheck-body-\n"), size/16+1)[:size] }
