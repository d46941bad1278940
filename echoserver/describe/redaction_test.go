package describe

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedaction(t *testing.T) {
	given := http.Header{"Authorization": {"Bearer hunter2", "hunter2", "hunter2 trailing", "Basic " + strings.Repeat("x", 100)},
		"Cookie": {"session=hunter2"}, "X-Color": {"hunter2"}, "X-Plain": {"hunter2"}}
	const hunter2 = "[redacted: 7 bytes, sha256 f52fbd32]"
	usual := http.Header{"Authorization": {"Bearer " + hunter2, hunter2, "[redacted: 16 bytes, sha256 8f299a51]",
		"Basic [redacted: 100 bytes, sha256 09ecb6eb]"},
		"Cookie": {"[redacted: 15 bytes, sha256 3a945450]"}, "X-Color": {"hunter2"}, "X-Plain": {"hunter2"}}
	more := usual.Clone()
	more["X-Color"] = []string{hunter2}
	for setting, want := range map[string]http.Header{"": usual, "x-color": more, "x-color , X-Other": more, "none": given} {
		names, err := ParseRedaction(setting)
		if err != nil {
			t.Fatal(err)
		}
		before := given.Clone()
		if diff := cmp.Diff(want, names.Apply(given)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", setting, diff)
		}
		if !cmp.Equal(before, given) {
			t.Errorf("%q changes the request", setting)
		}
	}
}

// TestRedaction_hidesSecretsByDefault checks each header that is redacted by default, and headers with similar names.
func TestRedaction_hidesSecretsByDefault(t *testing.T) {
	names, err := ParseRedaction(" ,")
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]bool{
		"Authorization": true, "Proxy-Authorization": true, "X-Authorization": true, "X-Original-Authorization": true, "Dpop": true,
		"Cookie": true, "Cookies": true, "Set-Cookie": true, "X-Session-Id": true, "Session": true, "X-Csrf-Token": true, "X-Csrftoken": true,
		"X-Auth-Token": true, "X-Access-Token": true, "Private-Token": true, "X-Vault-Token": true, "X-Amz-Security-Token": true,
		"X-Forwarded-Access-Token": true, "X-Forwarded-Id-Token": true, "X-Auth-Request-Access-Token": true, "X-Ms-Token-Aad-Access-Token": true,
		"X_auth_token": true, "X-Goog-Iap-Jwt-Assertion": true, "Cf-Access-Jwt-Assertion": true, "X-Amzn-Oidc-Data": true,
		"X-Amzn-Oidc-Accesstoken": true, "X-Amzn-Oidc-Identity": true, "X-Api-Key": true, "Api-Key": true, "Apikey": true, "X-Goog-Api-Key": true,
		"Ocp-Apim-Subscription-Key": true, "X-Functions-Key": true, "X-Aws-Access-Key": true, "X-Client-Secret": true, "X-Password": true,
		"X-Db-Passwd": true, "X-Credentials": true, "X-User-Credential": true,
		"X-Forwarded-For": false, "X-Forwarded-Client-Cert": false, "Www-Authenticate": false, "Sec-Websocket-Key": false,
		"Idempotency-Key": false,
		"X-Api-Version":   false, "X-Api-Color-Key": false, "Tokenizer": false, "X-Secretary": false, "X-Auth-Request-User": false,
		"X-Amzn-Trace-Id":     false,
		"X-Hub-Signature-256": false, "Accept": false, "-": false, "": false,
	} {
		got := names.Apply(http.Header{name: {"hunter2"}, "X-Other": {"other"}})
		if isRedacted := got.Get(name) == "[redacted: 7 bytes, sha256 f52fbd32]"; isRedacted != secret || !secret && got.Get(name) != "hunter2" ||
			got.Get("X-Other") != "other" {
			t.Errorf("%s is shown as %q", name, got)
		}
	}
}

// TestRedact checks that only known authentication schemes are shown. Any other word may be part of the secret.
func TestRedact(t *testing.T) {
	const hunter2 = "[redacted: 7 bytes, sha256 f52fbd32]"
	for value, want := range map[string]string{
		"Basic hunter2": "Basic " + hunter2, "BEARER hunter2": "BEARER " + hunter2, "digest hunter2": "digest " + hunter2,
		"DPoP hunter2":      "DPoP " + hunter2,
		"Negotiate hunter2": "Negotiate " + hunter2, "ntlm hunter2": "ntlm " + hunter2, "hunter2": hunter2,
		"Bearer": "[redacted: 6 bytes, sha256 710e0dbd]", "": "[redacted: 0 bytes, sha256 e3b0c442]",
		"Bearer ":  "Bearer [redacted: 0 bytes, sha256 e3b0c442]",
		" hunter2": "[redacted: 8 bytes, sha256 f12c2c37]", "AWS4 hunter2": "[redacted: 12 bytes, sha256 63cbfc08]",
	} {
		if got := redact(value); got != want {
			t.Errorf("%q is shown as %q, want %q", value, got, want)
		}
	}
}
