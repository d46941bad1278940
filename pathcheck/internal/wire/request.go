package wire

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
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

// fields returns the fields that a request has in every HTTP version.
func (c *Client) fields(r *Request) []Field {
	own := append([]Field{c.Check(r.Nonce)}, c.Own()...)
	return append(Without(append(Without(own, c.Headers), c.Headers...), r.Fields), r.Fields...)
}

// Without returns the fields whose names do not occur in others.
func Without(fields, others []Field) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool {
		return slices.ContainsFunc(others, func(other Field) bool { return strings.EqualFold(f.Name, other.Name) })
	})
}

// Header returns a request's header as bytes. The header asks the server to close the connection, so that requests do not affect each
// other.
func (c *Client) Header(r *Request) []byte {
	own := Fields("Host", c.Host, "Connection", "close")
	if r.Chunked {
		own = append(own, Field{"Transfer-Encoding", "chunked"})
	} else if len(r.Body) > 0 {
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

// writeBody writes the body and the trailers.
func (r *Request) writeBody(w io.Writer) error {
	if !r.Chunked {
		_, err := w.Write(r.Body)
		return err
	}
	if err := WriteChunk(w, r.Body); err != nil {
		return err
	}
	return EndChunks(w, r.Trailers)
}

func WriteChunk(w io.Writer, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%x\r\n%s\r\n", len(data), data)
	return err
}

func EndChunks(w io.Writer, trailers []Field) error {
	var b strings.Builder
	b.WriteString("0\r\n")
	for _, each := range trailers {
		fmt.Fprintf(&b, "%s\r\n", each)
	}
	_, err := io.WriteString(w, b.String()+"\r\n")
	return err
}

// Filler returns a body of the given size.
func Filler(size int) []byte { return bytes.Repeat([]byte("pathcheck-body-\n"), size/16+1)[:size] }

// Description is an echo server's description of the request that it received.
type Description struct {
	Path, Host, Method, Proto string
	Headers                   http.Header
	Pod                       string
	TLS                       *struct{ Version, ServerName, CipherSuite string }
	Request                   struct {
		Time          time.Time
		HeaderNames   []string
		ContentLength int64
		Body          *struct {
			Size   int64
			SHA256 string
		}
		Trailers http.Header
	}
	Client struct{ RemoteAddress string }
}

// maxTexts is the maximum number of names and values in a description. Requests from pathcheck contain far fewer. The limit exists because
// each name or value uses much more memory than its length in bytes.
const maxTexts = 20_000

// ParseDescription parses a description. It returns nil if the body does not describe a request.
func ParseDescription(body []byte) *Description {
	if bytes.Count(body, []byte{'"'}) > 2*maxTexts {
		return nil
	}
	e := &Description{}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if decoder.Decode(e) != nil || e.Method == "" || e.Path == "" {
		return nil
	}
	return e
}

// Peer returns the remote address of the echo server's connection, if known.
func (e *Description) Peer() netip.Addr {
	address, err := netip.ParseAddrPort(e.Client.RemoteAddress)
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().Unmap()
}

// PathOnly returns the path without the query, to which a proxy may have added parameters.
func (e *Description) PathOnly() string {
	path, _, _ := strings.Cut(e.Path, "?")
	return path
}

// Values returns a header's values. The case of the name does not matter.
func (e *Description) Values(name string) []string { return e.Headers[http.CanonicalHeaderKey(name)] }

// Has reports whether the echo server has received a header.
func (e *Description) Has(name string) bool { return len(e.Values(name)) > 0 }

// NameAsSent returns a header's name exactly as the echo server received it. The exact name is known only for HTTP/1.
func (e *Description) NameAsSent(name string) string {
	i := slices.IndexFunc(e.Request.HeaderNames, func(other string) bool { return strings.EqualFold(name, other) })
	if i < 0 {
		return ""
	}
	return e.Request.HeaderNames[i]
}

// Response is a response with data about its transmission.
type Response struct {
	Status   int
	Header   http.Header
	Trailers http.Header
	Interim  []int  // the status codes of the interim responses
	Body     []byte // the beginning of the body
	Size     int64  // size of the received part of the body

	Proven      bool // the response comes from the Echo
	Cached      bool // the response is to an earlier request
	Attempt     int  // how many requests with this nonce the Echo has received
	Description *Description

	Local  netip.AddrPort
	Remote string // host and port
	TLS    *tls.ConnectionState
	Took   time.Duration // the time until the header arrived
	Closed bool          // the server closes the connection after the response
}

func (a *Response) readBody(response *http.Response, limit int64) {
	defer func() { _ = response.Body.Close() }()
	a.Body, _ = io.ReadAll(io.LimitReader(response.Body, min(limit, MaxBody)))
	rest, _ := io.Copy(io.Discard, io.LimitReader(response.Body, limit-int64(len(a.Body))+1))
	a.Size = int64(len(a.Body)) + rest
	a.Trailers = response.Trailer
	a.Description = ParseDescription(a.Body) // the Echo's default Content-Type may be any text
}

func addressOf(address net.Addr) netip.AddrPort {
	parsed, _ := netip.ParseAddrPort(address.String())
	return netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port())
}

// RefusalOf returns a name for the reason why a request got no response.
func RefusalOf(err error) string {
	var timedOut net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no connection"
	case errors.Is(err, ErrHandshake):
		return "handshake"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timedOut) && timedOut.Timeout():
		return "time out"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, errStreamReset):
		return "reset"
	}
	return "closed"
}

// RejectedByEcho reports whether the Echo itself rejects a request because of its size. Over HTTP/1, the rejection contains no proof,
// because the Echo does not read the header that requests a proof.
func (a *Response) RejectedByEcho() bool {
	switch a.Status {
	case http.StatusRequestHeaderFieldsTooLarge, http.StatusRequestURITooLong, http.StatusRequestEntityTooLarge:
		return a.Proven && !a.Cached || bytes.HasPrefix(a.Body, []byte("echo-server: the "))
	}
	return false
}

// Refusal returns a name for a response that does not come from the Echo.
func (a *Response) Refusal() string { return strconv.Itoa(a.Status) }
