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

// hides reports whether a header's values are redacted. The name must be in canonical form.
func (r *Redaction) hides(name string) bool {
	return !r.off && (isSecretName(name) || r.Adds(name))
}

// Adds reports whether the settings list this header among the additional headers to redact. The name must be in canonical form.
func (r *Redaction) Adds(name string) bool { return slices.Contains(r.names, name) }

// Apply returns a copy of headers with redacted values, or headers itself if there is nothing to redact. The names must be in canonical
// form.
func (r *Redaction) Apply(headers http.Header) http.Header {
	shown := headers
	copied := false
	for name, values := range headers {
		if !r.hides(name) {
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
