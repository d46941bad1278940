package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedaction(t *testing.T) {
	given := http.Header{"Authorization": {"Bearer hunter2", "hunter2", "hunter2 trailing", "Basic " + strings.Repeat("x", 100)},
		"Cookie": {"session=hunter2"}, "X-Token": {"hunter2"}, "X-Plain": {"hunter2"}}
	const hunter2 = "[redacted: 7 bytes, sha256 f52fbd32]"
	usual := http.Header{"Authorization": {"Bearer " + hunter2, hunter2, "[redacted: 16 bytes, sha256 8f299a51]", "Basic [redacted: 100 bytes, sha256 09ecb6eb]"},
		"Cookie": {"[redacted: 15 bytes, sha256 3a945450]"}, "X-Token": {"hunter2"}, "X-Plain": {"hunter2"}}
	more := usual.Clone()
	more["X-Token"] = []string{hunter2}
	for setting, want := range map[string]http.Header{"": usual, "x-token": more, "x-token , X-Other": more, "none": given} {
		names, err := parseRedaction(setting)
		if err != nil {
			t.Fatal(err)
		}
		before := given.Clone()
		if diff := cmp.Diff(want, names.apply(given)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", setting, diff)
		}
		if !cmp.Equal(before, given) {
			t.Errorf("%q changes the request", setting)
		}
	}
	if _, err := parseRedaction("a b"); err == nil {
		t.Error("a name with a space is accepted")
	}
}

func TestSecretsAreShownNowhere(t *testing.T) {
	h := handlerOf(t)
	for _, format := range []string{"json", "text", "html"} {
		got := answered(h, "/?echo.format="+format, "Authorization", "Bearer hunter2", "Cookie", "a=hunter2", "Proxy-Authorization", "hunter2", "X-Api-Key", "hunter2")
		if strings.Contains(got.Body.String(), "hunter2") || !strings.Contains(got.Body.String(), "[redacted: ") {
			t.Errorf("%s: %s", format, got.Body)
		}
	}
}

// TestRedactedNames checks each header that is redacted without a setting, and some that resemble them.
func TestRedactedNames(t *testing.T) {
	names, err := parseRedaction(" ,")
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]bool{"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "Set-Cookie": true, "X-Amz-Security-Token": true,
		"X-Api-Key": true, "X-Auth-Token": true, "X-Csrf-Token": true, "X-Forwarded-Access-Token": true, "X-Goog-Iap-Jwt-Assertion": true, "X-Vault-Token": true,
		"X-Authorization": false, "Cookies": false, "X-Forwarded-For": false, "Www-Authenticate": false} {
		got := names.apply(http.Header{name: {"hunter2"}, "X-Other": {"other"}})
		if isRedacted := got.Get(name) == "[redacted: 7 bytes, sha256 f52fbd32]"; isRedacted != secret || !secret && got.Get(name) != "hunter2" || got.Get("X-Other") != "other" {
			t.Errorf("%s is shown as %q", name, got)
		}
	}
}

// TestRedactedSchemes checks that the scheme is shown, and only where it is one: anything else may be a part of the secret.
func TestRedactedSchemes(t *testing.T) {
	const hunter2 = "[redacted: 7 bytes, sha256 f52fbd32]"
	for value, want := range map[string]string{
		"Basic hunter2": "Basic " + hunter2, "BEARER hunter2": "BEARER " + hunter2, "digest hunter2": "digest " + hunter2, "DPoP hunter2": "DPoP " + hunter2,
		"Negotiate hunter2": "Negotiate " + hunter2, "ntlm hunter2": "ntlm " + hunter2, "hunter2": hunter2,
		"Bearer": "[redacted: 6 bytes, sha256 710e0dbd]", "": "[redacted: 0 bytes, sha256 e3b0c442]", "Bearer ": "Bearer [redacted: 0 bytes, sha256 e3b0c442]",
		" hunter2": "[redacted: 8 bytes, sha256 f12c2c37]", "AWS4 hunter2": "[redacted: 12 bytes, sha256 63cbfc08]",
	} {
		if got := redact(value); got != want {
			t.Errorf("%q is shown as %q, want %q", value, got, want)
		}
	}
}
