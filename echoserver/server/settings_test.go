package server

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestSettings(t *testing.T) {
	s, err := ParseSettings("dev", nil,
		[]string{"ECHO_HTTP_ADDR=:1", "ECHO_DRAIN_DELAY=2s", "ECHO_TRUSTED_PROXIES=10.0.0.0/8,::1", "POD_NAME=p", "ECHO_ADMIN_ADDR="}, nil)
	if err != nil || s.httpAddress != ":1" || s.AdminAddress != ":9090" || s.drainDelay != 2*time.Second || len(s.trustedProxies) != 2 ||
		s.identity.Pod != "p" {
		t.Errorf("from the environment: %+v, %v", s, err)
	}
	s, err = ParseSettings("dev", []string{"--http-addr=:2", "--response-status", "418"},
		[]string{"ECHO_HTTP_ADDR=:1", "ECHO_RESPONSE_STATUS=nonsense"}, nil)
	if err != nil || s.httpAddress != ":2" || s.response.Status != 418 || s.drainDelay != 5*time.Second {
		t.Errorf("flags do not take precedence: %+v, %v", s, err)
	}
}

func TestParseSettings_rejectsInvalidValues(t *testing.T) {
	for given, why := range map[string]string{
		"--nonsense":                          "unknown flag: --nonsense",
		"argument":                            `unexpected argument "argument"`,
		"--drain-delay=soon":                  `--drain-delay: "soon" is not a duration such as 5s or 500ms`,
		"--http-addr=":                        `--http-addr: "" is not an address such as :8080`,
		"ECHO_DRAIN_DELAY=-1s":                "ECHO_DRAIN_DELAY: ",
		"ECHO_HTTP_ADDR=8080":                 `ECHO_HTTP_ADDR: "8080" is not an address such as :8080`,
		"ECHO_HTTP_ADDR=:65536":               "ECHO_HTTP_ADDR: ",
		"ECHO_ADMIN_ADDR=:http":               "ECHO_ADMIN_ADDR: ",
		"ECHO_TRUSTED_PROXIES=10.0/8":         `ECHO_TRUSTED_PROXIES: "10.0/8" is not an address or a CIDR such as 10.0.0.0/8`,
		"ECHO_TRUSTED_PROXIES=proxy":          "ECHO_TRUSTED_PROXIES: ",
		"ECHO_REDACT_HEADERS=a b":             "ECHO_REDACT_HEADERS: ",
		"ECHO_MAX_HEADER_BYTES=64KiB":         `ECHO_MAX_HEADER_BYTES: "64KiB" is not a number of bytes from 8192 to 65536`,
		"ECHO_MAX_HEADER_BYTES=8191":          "ECHO_MAX_HEADER_BYTES: ",
		"ECHO_MAX_HEADER_BYTES=65537":         "ECHO_MAX_HEADER_BYTES: ",
		"ECHO_CONTROLS=full":                  `ECHO_CONTROLS: "full" is not Safe, Full, or None`,
		"ECHO_IDENTITY=no":                    `ECHO_IDENTITY: "no" is neither true nor false`,
		"ECHO_LOG_LEVEL=verbose":              `ECHO_LOG_LEVEL: "verbose" is neither info nor debug`,
		"ECHO_TLS_ADDR=8443":                  `ECHO_TLS_ADDR: "8443" is not an address such as :8080`,
		"ECHO_TLS_CLIENT_CERTIFICATE=require": `ECHO_TLS_CLIENT_CERTIFICATE: "require" is not None, Request, or Require`,
		"ECHO_TLS_MIN_VERSION=VersionTLS11":   `ECHO_TLS_MIN_VERSION: "VersionTLS11" is not VersionTLS12 or VersionTLS13`,
		"ECHO_TLS_CIPHERS=ECDHE-RSA-AES128-GCM-SHA256": `ECHO_TLS_CIPHERS: "ECDHE-RSA-AES128-GCM-SHA256" is not the IANA name of a cipher ` +
			"suite that this server supports: the secure suites are TLS_AES_128_GCM_SHA256, ",
		"--tls-ciphers=TLS_AES_128_GCM_SHA256,":                               `--tls-ciphers: "" is not the IANA name`,
		"ECHO_RESPONSE_STATUS=199":                                            "ECHO_RESPONSE_STATUS: ",
		"ECHO_RESPONSE_DELAY=31s":                                             "ECHO_RESPONSE_DELAY: ",
		"ECHO_RESPONSE_HEADERS=x":                                             "ECHO_RESPONSE_HEADERS: not a list such as ",
		`ECHO_RESPONSE_HEADERS=[{"name":"a b"}]`:                              `"a b" is not a header name`,
		`ECHO_RESPONSE_HEADERS=[{"name":"content-length","value":"1"}]`:       "cannot be set",
		`ECHO_RESPONSE_HEADERS=[{"name":"a","value":"b\r\nc: d"}]`:            "control character",
		`ECHO_RESPONSE_HEADERS=[{"name":"content-type","value":"text/html"}]`: "without ECHO_RESPONSE_BODY",
	} {
		var arguments, environ []string
		if strings.HasPrefix(given, "ECHO_") {
			environ = []string{given}
		} else {
			arguments = []string{given}
		}
		if _, err := ParseSettings("dev", arguments, environ, nil); err == nil || !strings.Contains(err.Error(), why) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", given, err, why)
		}
	}
}

// TestParseSettings_helpListsAllSettings checks that the help text lists all settings.
func TestParseSettings_helpListsAllSettings(t *testing.T) {
	var help bytes.Buffer
	if _, err := ParseSettings("dev", []string{"--help"}, nil, &help); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
	for _, name := range []string{"HTTP_ADDR", "ADMIN_ADDR", "DRAIN_DELAY", "TRUSTED_PROXIES", "REDACT_HEADERS", "RESPONSE_STATUS",
		"RESPONSE_DELAY", "RESPONSE_HEADERS", "RESPONSE_BODY", "RESPONSE_FAULTS", "CONTROLS", "IDENTITY", "TLS_ADDR", "TLS_DIR", "TLS_SECRET",
		"TLS_CLIENT_CERTIFICATE", "TLS_MIN_VERSION", "TLS_CIPHERS", "LOG_LEVEL"} {
		if mirrored := "-" + strings.ToLower(strings.ReplaceAll(name, "_", "-")); !strings.Contains(help.String(), mirrored+" ") ||
			!strings.Contains(help.String(), "ECHO_"+name+";") {
			t.Errorf("%s is not in the help:\n%s", name, &help)
		}
	}
}
