package server

import (
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// spelling is an unusual value for a setting. It either means the same as another value, or is rejected with a reason.
type spelling struct{ text, same, refused string }

// spellings returns a row for each setting, with a usual value that is not the default, and unusual values.
func spellings() map[string]struct {
	usual string
	odd   []spelling
} {
	type row = struct {
		usual string
		odd   []spelling
	}
	address := []spelling{{text: "8081", refused: "such as :8080"}, {text: ":65536", refused: "such as :8080"},
		{text: "127.0.0.256:81", refused: "such as :8080"}, {text: `":81"`, refused: "such as :8080"},
		{text: "http://:81", refused: "such as :8080"}, {text: "[::1%]:81", refused: "such as :8080"}}
	return map[string]row{
		"http-addr":  {":81", address},
		"admin-addr": {"[::ffff:127.0.0.1]:81", append(address, spelling{text: ":8080", refused: "uses the same port as ECHO_HTTP_ADDR"})},
		"tls-addr": {":81", append(address, spelling{text: "127.0.0.1:08080", refused: "uses the same port as ECHO_HTTP_ADDR"},
			spelling{text: "[::]:9090", refused: "uses the same port as ECHO_ADMIN_ADDR"})},
		"drain-delay": {"7s", []spelling{{text: "7", refused: "such as 5s"}, {text: "7S", refused: "such as 5s"}, {text: "-0s", same: "0s"}}},
		"trusted-proxies": {"10.0.0.0/8", []spelling{{text: "::ffff:10.0.0.0/104", same: "10.0.0.0/8"},
			{text: ",10.0.0.0/8 ,", same: "10.0.0.0/8"}, {text: "10.1.2.3/8", same: "10.1.2.3/8"},
			{text: "::ffff:10.0.0.1", same: "10.0.0.1/32"}, {text: "fe80::1%eth0", same: "fe80::1"},
			{text: "::ffff:10.0.0.0/8", refused: "such as 10.0.0.0/8"}, {text: "fe80::%eth0/64", refused: "such as 10.0.0.0/8"},
			{text: "10.0.0.0/8\n10.1.0.0/16", refused: "such as 10.0.0.0/8"}, {text: `"10.0.0.0/8"`, refused: "such as 10.0.0.0/8"}}},
		"redact-headers": {"x-a,X-B", []spelling{{text: "X-A , x-b,,", same: "x-a,X-B"}, {text: "None", same: "none"},
			{text: " NONE\r\n", same: "none"},
			{text: "X-A,none", refused: "neither none nor a list"}, {text: "'X-A'", refused: "neither none nor a list"},
			{text: "X-*", refused: "neither none nor a list"}, {text: "X-A;X-B", refused: "neither none nor a list"},
			{text: "$HEADERS", refused: "neither none nor a list"}}},
		"max-header-bytes": {"16384", []spelling{{text: "016384", same: "16384"}, {text: "16Ki", refused: "from 8192 to 65536"}}},
		"response-status":  {"418", []spelling{{text: "0418", same: "418"}, {text: "418.0", refused: "a whole number from 200"}}},
		"response-delay":   {"2s", []spelling{{text: "2000ms", same: "2s"}, {text: "2", refused: "such as 500ms"}}},
		"response-headers": {`[{"name":"X-A","value":"b"}]`, []spelling{{text: "null", same: ""}, {text: " [ ] ", same: "[]"},
			{text: `[{"NAME":"X-A","Value":"b"}]`, same: `[{"name":"X-A","value":"b"}]`},
			{text: `[{"name":"X-A","val":"b"}]`, refused: `unknown field "val"`},
			{text: `[{"name":"X-A","value":"b"}] []`, refused: "not a list such as"},
			{text: `[{"name":"X-A","value":"b"},]`, refused: "not a list such as"}, {text: `{"X-A":"b"}`, refused: "not a list such as"}}},
		"response-faults": {`[{"statusCode":503}]`, []spelling{{text: "null", same: "[]"}, {text: "[null]", refused: "faults[0]"},
			{text: `[{"statusCode":"503"}]`, refused: "faults[0]"}, {text: `[{"status":503}]`, refused: "faults[0]"}}},
		"response-body": {" \ufeffbody\r\n", nil},
		"controls":      {"Full", []spelling{{text: "full", refused: "Safe, Full, or None"}, {text: "Full,None", refused: "Safe, Full, or None"}}},
		"identity":      {"false", []spelling{{text: "False", refused: "true nor false"}, {text: "0", refused: "true nor false"}}},
		"log-level":     {"debug", []spelling{{text: "DEBUG", refused: "info nor debug"}, {text: "warn", refused: "info nor debug"}}},
		"tls-dir":       {"/tls", nil},
		"tls-secret":    {"web-tls", nil},
		"tls-client-certificate": {"Request", []spelling{{text: "request", refused: "None, Request, or Require"},
			{text: "none", refused: "None, Request, or Require"}}},
		"tls-min-version": {"VersionTLS13", []spelling{{text: "1.3", refused: "VersionTLS12 or VersionTLS13"}}},
		"tls-ciphers": {"TLS_RSA_WITH_AES_128_CBC_SHA", []spelling{{text: "TLS_RSA_WITH_AES_128_CBC_SHA,", refused: "is not the IANA name"},
			{text: "tls_rsa_with_aes_128_cbc_sha", refused: "is not the IANA name"}}},
	}
}

// parseSetting parses one setting. For a TLS setting, it also sets a TLS port.
func parseSetting(flag, text string) (Settings, error) {
	name := option{flag: flag}.variable()
	environ := []string{name + "=" + text}
	if strings.HasPrefix(flag, "tls-") && flag != "tls-addr" {
		environ = append(environ, "ECHO_TLS_ADDR=:8443")
	}
	return ParseSettings("dev", nil, environ, io.Discard)
}

// TestParseSettings_acceptsOnlyIntendedSpellings checks that the server accepts a value only if it interprets the value as intended.
func TestParseSettings_acceptsOnlyIntendedSpellings(t *testing.T) {
	rows := spellings()
	for _, o := range (&Settings{}).options() {
		row, ok := rows[o.flag]
		if !ok {
			t.Errorf("%s has no row", o.flag)
			continue
		}
		odd := row.odd
		if o.flag != bodyFlag {
			odd = append(slices.Clone(odd), spelling{text: "\ufeff" + row.usual + "\r\n", same: row.usual},
				spelling{text: " \t" + row.usual + " ", same: row.usual},
				spelling{text: " \r\n", same: ""})
		}
		unset, err := parseSetting(o.flag, "")
		if err != nil {
			t.Errorf("%s is empty: %v", o.flag, err)
		}
		if usual, err := parseSetting(o.flag, row.usual); err != nil || reflect.DeepEqual(usual, unset) {
			t.Errorf("%s: %q has no effect, %v", o.flag, row.usual, err)
		}
		for _, each := range odd {
			got, err := parseSetting(o.flag, each.text)
			if each.refused != "" {
				if err == nil || !strings.HasPrefix(err.Error(), o.variable()+": ") || !strings.Contains(err.Error(), each.refused) {
					t.Errorf("%s: %q gives %v, want %q", o.flag, each.text, err, each.refused)
				}
				continue
			}
			if want, wantErr := parseSetting(o.flag, each.same); err != nil || wantErr != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %q is not the same as %q: %v, %v", o.flag, each.text, each.same, err, wantErr)
			}
		}
	}
}

func TestConsistent(t *testing.T) {
	for arguments, want := range map[string]string{
		"--tls-client-certificate=Require":                 "ECHO_TLS_CLIENT_CERTIFICATE: no port uses TLS: set ECHO_TLS_ADDR",
		"--http-addr=:9090":                                `ECHO_ADMIN_ADDR: ":9090" uses the same port as ECHO_HTTP_ADDR, ":9090"`,
		"--http-addr=127.0.0.1:80 --admin-addr=0.0.0.0:80": "ECHO_ADMIN_ADDR: ",
		"--tls-dir= --tls-addr=:1":                         `--tls-dir: "" is not a directory`,
		"--http-addr=127.0.0.1:80 --admin-addr=[::1]:80":   "",
		"--http-addr=:0 --admin-addr=:0":                   "",
	} {
		_, err := ParseSettings("dev", strings.Fields(arguments), nil, io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
	}
}

// TestUnknownVariables sets a misspelled variable, and the variables that Kubernetes sets for Services named echo and echo-web.
func TestUnknownVariables(t *testing.T) {
	s, err := ParseSettings("dev", nil, []string{"ECHO_TRUSTED_PROXY=10.0.0.0/8", "ECHO_ADMIN_ADDRESS=:1", "ECHO_INFO_COLOR=blue",
		"ECHO_PORT=tcp://10.0.0.1:80", "ECHO_SERVICE_HOST=10.0.0.1", "ECHO_SERVICE_PORT=80", "ECHO_SERVICE_PORT_HTTP=80", "ECHO_PORT_80_TCP=tcp://10.0.0.1:80",
		"ECHO_WEB_PORT_80_TCP_ADDR=10.0.0.1", "ECHO_DRAIN_DELAY=1s"}, io.Discard)
	if want := []string{"ECHO_ADMIN_ADDRESS", "ECHO_TRUSTED_PROXY"}; err != nil || !slices.Equal(s.unknown, want) {
		t.Errorf("got %q, %v, want %q", s.unknown, err, want)
	}
}
