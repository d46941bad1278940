// Package proof lets an echo server prove to a client that the server is an Echo, and which Echo it is.
//
// The client sends a nonce, and the echo server responds with claims about the request and the response, and with a digest of the nonce and
// the claims. A proxy that changes a response can therefore not change what the server says about it. The digest does not reveal the Echo's
// name to a client that does not know the name.
package proof

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
)

const (
	// RequestHeader is the request header that asks for a proof.
	RequestHeader = "Echo-Check"
	// ResponseHeader is the response header that contains the proof.
	ResponseHeader = "Echo-Proof"

	minNonce, maxNonce = 16, 64
	maxClaims          = 8 << 10 // the maximum length, in bytes, of encoded claims
	// contentDigits and fieldDigits are the lengths of digests. They suffice to notice changes, and keep the header short.
	contentDigits, fieldDigits = 16, 8
	byClient, byServer         = "client", "server"
)

// Echo identifies an Echo by its namespace and name. The zero value stands for any Echo.
type Echo struct{ Namespace, Name string }

// digest returns a value that can be computed only with the names, the nonce, and the claims, if any. The role prevents a server from
// returning a client's digest as a proof.
func (e Echo) digest(role, nonce string, claims ...string) string {
	lines := append([]string{"echo-proof", role, nonce, e.Namespace, e.Name}, claims...)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// Ask returns the value of RequestHeader with which a client asks a known Echo, or any Echo, for a proof.
func (e Echo) Ask(nonce string) string {
	if e == (Echo{}) {
		return nonce
	}
	return nonce + "." + e.digest(byClient, nonce)
}

// IsNonce reports whether a text is a nonce: 16 to 64 lowercase hexadecimal digits.
func IsNonce(text string) bool {
	return len(text) >= minNonce && len(text) <= maxNonce && strings.Trim(text, "0123456789abcdef") == ""
}

// Respond checks a value of RequestHeader. It returns the nonce, and the Echo to whose name the proof will be bound. If the client knows
// the Echo's name, the proof shows that this Echo responded. Otherwise, it shows only that an Echo responded.
func (e Echo) Respond(value string) (nonce string, as Echo, ok bool) {
	nonce, known, _ := strings.Cut(value, ".")
	if !IsNonce(nonce) {
		return "", Echo{}, false
	}
	if !hmac.Equal([]byte(known), []byte(e.digest(byClient, nonce))) {
		return nonce, Echo{}, true
	}
	return nonce, e, true
}

// Sign returns the value of ResponseHeader: a digest over the nonce, the names, and the claims; a dot; and the claims as unpadded base64url
// of compact JSON. It omits the fields if the value would be too long for Verify.
func (e Echo) Sign(nonce string, c *Claims) string {
	data, _ := json.Marshal(c) // all types can be encoded
	encoded := base64.RawURLEncoding.EncodeToString(data)
	if len(encoded) > maxClaims && c.Fields != nil {
		short := *c
		short.Fields = nil
		return e.Sign(nonce, &short)
	}
	return e.digest(byServer, nonce, encoded) + "." + encoded
}

// Verify returns the claims if a ResponseHeader value proves that the Echo received the nonce and made them. The zero value means any Echo.
func (e Echo) Verify(nonce, value string) (*Claims, bool) {
	digest, encoded, _ := strings.Cut(value, ".")
	if len(encoded) > maxClaims || !hmac.Equal([]byte(digest), []byte(e.digest(byServer, nonce, encoded))) {
		return nil, false
	}
	var c *Claims
	data, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil || json.Unmarshal(data, &c) != nil || c == nil { // JSON null
		return nil, false
	}
	return c, true
}

// Claims is what an echo server asserts about a request and about its response. The proof covers the claims.
type Claims struct {
	Server  string `json:"server"`  // a random ID of the process, so that servers can be distinguished without the pods' names
	Attempt int    `json:"attempt"` // how many requests with this nonce the server has received, including this one
	Status  int    `json:"status"`  // of the response
	Method  string `json:"method"`  // of the request as received; only its first 16 bytes
	// Body is the digest of the whole response body before any compression. It is empty if there is no body, for generated text, ranges,
	// streams, and calls, because the server does not know the body when it writes the header, and for pages, because they are long.
	Body      string `json:"body,omitempty"`
	Describes bool   `json:"describes,omitempty"` // whether the body is a JSON description of the request
	// Fields has a digest of each field that the server set in the response's header, by canonical name, apart from fields for one
	// connection and lengths. It is empty if the claims would be too long.
	Fields map[string]string `json:"fields,omitempty"`
	// Request describes the body of the request, as received until the response began.
	Request Arrival `json:"request"`
}

// Arrival is a request as an echo server received it. It contains neither fields nor content.
type Arrival struct {
	Method string `json:"method"`          // only its first 16 bytes
	Length int64  `json:"length"`          // the Content-Length; -1 if the request has none but may have a body
	Size   int64  `json:"size"`            // the bytes of the body that were received
	Pieces int    `json:"pieces"`          // the number of reads that returned data
	First  int64  `json:"first,omitempty"` // when the first and the last piece were read, in milliseconds after the header arrived
	Last   int64  `json:"last,omitempty"`
	Time   int64  `json:"time,omitempty"` // in a record only: milliseconds between the first request with the nonce and this one
}

// Record is the body of a response from /-/arrivals?nonce=NONCE: the requests with a nonce that this server has received, oldest first.
type Record struct {
	Server   string    `json:"server"`
	Count    int       `json:"count"`    // all requests with the nonce; 0 if there were none, or if the server no longer remembers them
	Arrivals []Arrival `json:"arrivals"` // the first ones
}

// Digest returns the digest of content for claims: the first 16 hexadecimal digits of SHA-256.
func Digest(content []byte) string { return DigestOf(bytes.NewReader(content)) }

// DigestOf is like Digest, for the content that a reader returns without an error.
func DigestOf(content io.Reader) string {
	hash := sha256.New()
	_, _ = io.Copy(hash, content)
	return hex.EncodeToString(hash.Sum(nil))[:contentDigits]
}

// FieldDigest returns the digest of a field's values for Claims.Fields.
func FieldDigest(values []string) string {
	trimmed := make([]string, len(values))
	for i, value := range values {
		trimmed[i] = strings.TrimSpace(value)
	}
	return Digest([]byte(strings.Join(trimmed, "\n")))[:fieldDigits]
}

// Enclose puts a value of ResponseHeader in front of a text, in a line of its own, for responses without a header, such as the first
// message of a WebSocket. Split undoes it.
func Enclose(value string, text []byte) []byte { return append([]byte(value+"\n"), text...) }

// Split returns the value and the text of a message from Enclose. The value is empty if the message has only one line.
func Split(message []byte) (value string, text []byte) {
	line, text, found := bytes.Cut(message, []byte("\n"))
	if !found {
		return "", message
	}
	return string(line), text
}
