// Package proof lets an echo server prove to a client that the server is an Echo, and which Echo it is.
//
// The client sends a nonce, and the echo server responds with a digest of the nonce. The digest does not reveal the Echo's name to a client
// that does not know the name.
package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

const (
	// RequestHeader is the request header that asks for a proof.
	RequestHeader = "Echo-Check"
	// ResponseHeader is the response header that contains the proof.
	ResponseHeader = "Echo-Proof"

	minNonce, maxNonce = 16, 64
	byClient, byServer = "client", "server"
)

// Echo identifies an Echo by its namespace and name. The zero value stands for any Echo.
type Echo struct{ Namespace, Name string }

// digest returns a value that can be computed only with the names and the nonce. The role prevents a server from returning a client's
// digest as a proof.
func (e Echo) digest(role, nonce string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{"echo-proof", role, nonce, e.Namespace, e.Name}, "\n")))
	return hex.EncodeToString(sum[:])
}

// Ask returns the value of RequestHeader with which a client asks a known Echo, or any Echo, for a proof.
func (e Echo) Ask(nonce string) string {
	if e == (Echo{}) {
		return nonce
	}
	return nonce + "." + e.digest(byClient, nonce)
}

// Respond returns the nonce from a value of RequestHeader, and an Echo's proof. If the client knows the Echo's name, the proof shows that
// this Echo responded. Otherwise, it shows only that an Echo responded. Respond returns no proof if the value is invalid.
func (e Echo) Respond(value string) (nonce, proof string, ok bool) {
	nonce, known, _ := strings.Cut(value, ".")
	if len(nonce) < minNonce || len(nonce) > maxNonce || strings.Trim(nonce, "0123456789abcdef") != "" {
		return "", "", false
	}
	if !hmac.Equal([]byte(known), []byte(e.digest(byClient, nonce))) {
		e = Echo{}
	}
	return nonce, e.digest(byServer, nonce), true
}

// Value returns the value of ResponseHeader: a proof, and the number of requests with the same nonce that the server has received.
func Value(proof string, attempt int) string { return proof + "; attempt=" + strconv.Itoa(attempt) }

// Verify reports whether a value of ResponseHeader proves that the Echo received the nonce. The zero value stands for any Echo. In the
// result, attempt is the number of requests with this nonce that the server claims to have received.
func (e Echo) Verify(nonce, value string) (attempt int, ok bool) {
	digest, rest, _ := strings.Cut(value, ";")
	if !hmac.Equal([]byte(strings.TrimSpace(digest)), []byte(e.digest(byServer, nonce))) {
		return 0, false
	}
	number, _ := strings.CutPrefix(strings.TrimSpace(rest), "attempt=")
	attempt, err := strconv.Atoi(number)
	if err != nil {
		return 1, true
	}
	return attempt, true
}
