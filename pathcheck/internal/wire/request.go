package wire

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

	"github.com/echo-operator/echo-operator/internal/proof"
)

// Field is a line of a header.
type Field struct{ Name, Value string }

// Fields returns fields from alternating names and values.
func Fields(pairs ...string) []Field {
	fields := make([]Field, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		fields = append(fields, Field{pair[0], pair[1]})
	}
	return fields
}

func (f Field) String() string { return f.Name + ": " + f.Value }

// Request is an HTTP/1.1 request that is sent exactly as specified.
type Request struct {
	Method   string // GET if empty
	Path     string // relative to the Echo's path, including the query
	Fields   []Field
	Body     []byte
	Chunked  bool
	Trailers []Field
	Timeout  time.Duration // Timeout if 0
	Nonce    string        // a new nonce if empty
	Sent     time.Time     // when sending began; set by Open
}

func NewNonce() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

func (r *Request) methodOrGet() string { return cmp.Or(r.Method, "GET") }

// Own returns the fields that every request has, apart from the one that requests a proof.
func (c *Client) Own() []Field {
	return Fields("User-Agent", c.Agent, "Accept", "application/json", "Accept-Encoding", "identity")
}

// fields returns the fields that a request has in every HTTP version, and records the nonce for Judge.
func (c *Client) fields(r *Request) []Field {
	c.Limits.mutex.Lock()
	defer c.Limits.mutex.Unlock()
	c.Limits.nonces = append(c.Limits.nonces, r.Nonce)
	own := append([]Field{{proof.RequestHeader, c.Echo.Ask(r.Nonce)}}, c.Own()...)
	return append(Without(append(Without(own, c.Headers), c.Headers...), r.Fields), r.Fields...)
}

// Without returns the fields whose names do not occur in others.
func Without(fields, others []Field) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool {
		return slices.ContainsFunc(others, func(other Field) bool { return strings.EqualFold(f.Name, other.Name) })
	})
}

// Header returns a request's header as bytes. The header asks the server to close the connection, so that requests are independent.
func (c *Client) Header(r *Request) []byte {
	own := Fields("Host", c.Host, "Connection", "close")
	if r.Chunked {
		own = append(own, Field{"Transfer-Encoding", "chunked"})
	} else if len(r.Body) > 0 || slices.Contains([]string{"POST", "PUT", "PATCH"}, r.Method) { // as RFC 9110, section 8.6, recommends
		own = append(own, Field{"Content-Length", strconv.Itoa(len(r.Body))})
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s%s HTTP/1.1\r\n", r.methodOrGet(), c.Base, r.Path)
	fields := c.fields(r)
	for _, each := range append(Without(own, fields), fields...) {
		fmt.Fprintf(&b, "%s\r\n", each)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// EndChunks ends a body that httputil.NewChunkedWriter writes, with trailers.
func EndChunks(w io.Writer, trailers []Field) {
	b := bytes.NewBufferString("0\r\n")
	for _, each := range trailers {
		fmt.Fprintf(b, "%s\r\n", each)
	}
	b.WriteString("\r\n")
	_, _ = b.WriteTo(w) // the server may have responded
}

// Filler returns a body of the given size.
func Filler(size int) []byte { return bytes.Repeat([]byte("pathcheck-body-\n"), size/16+1)[:size] }
