package describe

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Redaction determines which request headers contain secrets that the response must not include.
type Redaction struct {
	off   bool
	names []string // additional names, in canonical form
}

// ParseRedaction parses the names of additional headers to redact; "none" redacts nothing. It rejects characters that HTTP allows in names
// but that indicate a mistake, such as quotes and asterisks.
func ParseRedaction(text string) (Redaction, error) {
	if isNone(text) {
		return Redaction{off: true}, nil
	}
	var r Redaction
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if isNone(name) || !httpguts.ValidHeaderFieldName(name) || strings.ContainsAny(name, "!#$%&'*+^`|~") {
			return Redaction{}, fmt.Errorf("%q is neither none nor a list of header names such as X-Token,X-Session", text)
		}
		r.names = append(r.names, http.CanonicalHeaderKey(name))
	}
	return r, nil
}

func isNone(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "none") }

// Adds reports whether the settings list this header among the additional headers to redact. The name must be in canonical form.
func (r *Redaction) Adds(name string) bool { return slices.Contains(r.names, name) }

// Apply returns a copy of headers with redacted values, or headers itself if there is nothing to redact. The names must be in canonical
// form.
func (r *Redaction) Apply(headers http.Header) http.Header {
	shown := headers
	copied := false
	for name, values := range headers {
		if r.off || !isSecretName(name) && !r.Adds(name) {
			continue
		}
		if !copied {
			shown, copied = maps.Clone(headers), true
		}
		redacted := make([]string, len(values))
		for i, value := range values {
			redacted[i] = redact(value)
		}
		shown[name] = redacted
	}
	return shown
}

// redact returns a secret's scheme (if any), its length, and the first digits of its SHA-256 digest, so that users can compare secrets.
func redact(value string) string {
	scheme, secret, ok := strings.Cut(value, " ")
	known := []string{"basic", "bearer", "digest", "dpop", "negotiate", "ntlm"}
	if !ok || !slices.Contains(known, strings.ToLower(scheme)) {
		scheme, secret = "", value
	}
	digest := sha256.Sum256([]byte(secret))
	return strings.TrimSpace(fmt.Sprintf("%s [redacted: %d bytes, sha256 %x]", scheme, len(secret), digest[:4]))
}

// These limits apply to the length, in bytes, of all words that isSecretWord recognizes. Each word is at least as long as the first limit
// and shorter than the second.
const (
	minSecretWord = 3
	maxSecretWord = 16
)

// isSecretName reports whether the name of a header contains a word for a secret. It allocates no memory unless the name contains an
// underscore, because the server calls it for every header of every request.
func isSecretName(name string) bool {
	if strings.HasPrefix(name, "X-Amzn-Oidc-") { // the user's claims and tokens
		return true
	}
	previous := ""
	for word := range strings.SplitSeq(strings.ReplaceAll(name, "_", "-"), "-") {
		if len(word) >= minSecretWord && isSecretWord(word, previous) {
			return true
		}
		previous = word
	}
	return false
}

// isSecretWord reports whether a word, in upper or lower case and in the singular or plural, denotes a secret. The word "key" denotes a
// secret only after certain other words, such as "api".
func isSecretWord(word, previous string) bool {
	var buffer [maxSecretWord]byte
	switch lower := lowerEnd(buffer[:], word); string(lower) {
	case "assertion", "authorization", "cookie", "credential", "dpop", "jwt", "passphrase", "passwd", "pwd", "session":
		return true
	case "key":
		switch string(lowerEnd(buffer[:], previous)) {
		case "acces", "account", "admin", "api", "auth", "customer", "encryption", "function", "license", "master", "private", "shared",
			"signing", "subscription": // without a final s: acces stands for access
			return true
		}
		return false
	default: // a compound word, such as csrftoken, may end in a word for a secret
		switch lower[len(lower)-1] {
		case 'd':
			return bytes.HasSuffix(lower, []byte("password"))
		case 'n':
			return bytes.HasSuffix(lower, []byte("token"))
		case 't':
			return bytes.HasSuffix(lower, []byte("secret"))
		case 'y':
			return bytes.HasSuffix(lower, []byte("apikey"))
		}
		return false
	}
}

// lowerEnd returns as much of the end of a word as fits into the buffer, in lower case and without a final s.
func lowerEnd(buffer []byte, word string) []byte {
	n := copy(buffer, word[max(0, len(word)-len(buffer)):])
	for i, c := range buffer[:n] {
		if 'A' <= c && c <= 'Z' {
			buffer[i] = c + 'a' - 'A'
		}
	}
	return bytes.TrimSuffix(buffer[:n], []byte("s"))
}
