package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// redaction contains the canonical names of request headers whose values are secrets.
type redaction []string

// parseRedaction parses the names of additional headers to redact; "none" redacts nothing.
func parseRedaction(text string) (redaction, error) {
	if text == "none" {
		return nil, nil
	}
	names := redaction{"Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-Amz-Security-Token", "X-Api-Key", "X-Auth-Token",
		"X-Csrf-Token", "X-Forwarded-Access-Token", "X-Goog-Iap-Jwt-Assertion", "X-Vault-Token"}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !isToken(name) {
			return nil, fmt.Errorf("%q is neither none nor a list of header names such as X-Token,X-Session", text)
		}
		names = append(names, http.CanonicalHeaderKey(name))
	}
	return names, nil
}

// apply returns a copy of headers with redacted values.
func (names redaction) apply(headers http.Header) http.Header {
	isSecret := func(name string) bool { return len(headers[name]) > 0 }
	if !slices.ContainsFunc(names, isSecret) {
		return headers
	}
	headers = headers.Clone()
	for _, name := range names {
		for i, value := range headers[name] {
			headers[name][i] = redact(value)
		}
	}
	return headers
}

// redact returns the scheme of a secret if it has one, its length, and the first digits of its SHA-256, to compare it with another.
func redact(value string) string {
	scheme, secret, ok := strings.Cut(value, " ")
	known := []string{"basic", "bearer", "digest", "dpop", "negotiate", "ntlm"}
	if !ok || !slices.Contains(known, strings.ToLower(scheme)) {
		scheme, secret = "", value
	}
	digest := sha256.Sum256([]byte(secret))
	return strings.TrimSpace(fmt.Sprintf("%s [redacted: %d bytes, sha256 %x]", scheme, len(secret), digest[:4]))
}
