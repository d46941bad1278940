package describe

import (
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

// Apply returns a copy of headers with redacted values, or headers itself if there is nothing to redact. Names must be canonical.
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

// isSecretName reports whether the name of a header contains a word for a secret. It allocates no memory unless the name contains an
// underscore, because the server calls it for every header of every request.
func isSecretName(name string) bool {
	if strings.HasPrefix(name, "X-Amzn-Oidc-") { // the user's claims and tokens
		return true
	}
	previous := ""
	for word := range strings.SplitSeq(strings.ReplaceAll(name, "_", "-"), "-") {
		if isSecretWord(word, previous) {
			return true
		}
		previous = word
	}
	return false
}

// isSecretWord reports whether a word, in upper or lower case and in the singular or plural, denotes a secret. The word "key" denotes a
// secret only after certain other words, such as "api". A compound word, such as csrftoken, may end in a word for a secret.
func isSecretWord(word, previous string) bool {
	if isOneOf(word, "key") {
		return isOneOf(previous, "access", "account", "admin", "api", "auth", "customer", "encryption", "function", "license", "master",
			"private", "shared", "signing", "subscription")
	}
	for _, end := range []string{"apikey", "password", "secret", "token"} {
		if isOneOf(word[max(0, len(word)-len(end)):], end) || isOneOf(word[max(0, len(word)-len(end)-len("s")):], end) {
			return true
		}
	}
	return isOneOf(word, "assertion", "authorization", "cookie", "credential", "dpop", "jwt", "passphrase", "passwd", "pwd", "session")
}

// isOneOf reports whether a word is one of the others, or its plural.
func isOneOf(word string, others ...string) bool {
	for _, other := range others {
		plural := len(word) == len(other)+1 && word[len(other)]|0x20 == 's'
		if strings.EqualFold(word, other) || plural && strings.EqualFold(word[:len(other)], other) {
			return true
		}
	}
	return false
}
