package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
	"github.com/echo-operator/echo-operator/tests/support/fences"
)

// TestParseSettings sets the same settings in different ways. Flags take precedence over variables, even over invalid ones.
func TestParseSettings(t *testing.T) {
	s, err := ParseSettings("dev", nil,
		[]string{"ECHO_HTTP_ADDR=:1", "ECHO_DRAIN_DELAY=2s", "ECHO_TRUSTED_PROXIES=10.0.0.0/8,::1", "ECHO_POD_NAME=p", "ECHO_ADMIN_ADDR="}, nil)
	if err != nil || s.httpAddress != ":1" || s.AdminAddress != ":9090" || s.drainDelay != 2*time.Second || len(s.trustedProxies) != 2 ||
		s.identity.Pod != "p" || s.tls.MinVersion != tls.VersionTLS12 || s.tls.ClientCertificate != transport.ClientCertificateNone {
		t.Errorf("from the environment: %+v, %v", s, err)
	}
	s, err = ParseSettings("dev", []string{"--http-addr=:2", "--response-status", "418"},
		[]string{"ECHO_HTTP_ADDR=:1", "ECHO_RESPONSE_STATUS=nonsense"}, nil)
	if err != nil || s.httpAddress != ":2" || s.response.Status != 418 || s.drainDelay != 5*time.Second {
		t.Errorf("flags do not take precedence: %+v, %v", s, err)
	}
	for argument, why := range map[string]string{
		"--nonsense":                            "unknown flag: --nonsense",
		"argument":                              `unexpected argument "argument"`,
		"--drain-delay=soon":                    `--drain-delay: "soon" is not a duration such as 5s or 500ms`,
		"--http-addr=":                          `--http-addr: "" is not an address such as :8080`,
		"--tls-ciphers=TLS_AES_128_GCM_SHA256,": `--tls-ciphers: "" is not the IANA name`,
	} {
		if _, err := ParseSettings("dev", []string{argument}, nil, nil); err == nil || !strings.Contains(err.Error(), why) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", argument, err, why)
		}
	}
	var help bytes.Buffer
	if _, err := ParseSettings("dev", []string{"--help"}, nil, &help); !errors.Is(err, pflag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
	for _, o := range (&Settings{}).options() {
		if !strings.Contains(help.String(), "--"+o.flag+" ") || !strings.Contains(help.String(), o.variable()+";") {
			t.Errorf("%s is not in the help:\n%s", o.flag, &help)
		}
	}
}

// settingRow contains a value of a setting that is not the default, and why invalid values are rejected.
type settingRow struct {
	usual   string
	refused map[string]string
}

func settingRows() map[string]settingRow {
	const address, headers = "such as :8080", "neither none nor a list"
	return map[string]settingRow{
		"http-addr": {":81", map[string]string{"8081": address, ":65536": address, "127.0.0.256:81": address, `":81"`: address,
			"http://:81": address, "[::1%]:81": address, ":81\r\n": address, "8080": `"8080" is not an address such as :8080`}},
		"admin-addr":  {"[::ffff:127.0.0.1]:81", map[string]string{":http": address, ":8080": "uses the same port as ECHO_HTTP_ADDR"}},
		"tls-addr":    {":81", map[string]string{"8443": address, "127.0.0.1:08080": "uses the same port as ECHO_HTTP_ADDR", "[::]:9090": "uses the same port as ECHO_ADMIN_ADDR"}},
		"drain-delay": {"7s", map[string]string{"7": "such as 5s", "7S": "such as 5s", "7s\n": "such as 5s", "-1s": "such as 5s"}},
		"trusted-proxies": {"10.0.0.0/8", map[string]string{"10.0.0.0/8\n10.1.0.0/16": "such as 10.0.0.0/8", `"10.0.0.0/8"`: "such as 10.0.0.0/8",
			"10.0/8": `"10.0/8" is not an address or a CIDR such as`, "proxy": "such as 10.0.0.0/8"}},
		"redact-headers": {"x-a,X-B", map[string]string{"X-A,none": headers, "'X-A'": headers, "X-*": headers, "X-A;X-B": headers, "a b": headers,
			"$HEADERS": headers}},
		"max-header-bytes": {"16384", map[string]string{"16Ki": `"16Ki" is not a number of bytes from 8192 to 65536`, "8191": "8192",
			"65537": "65536"}},
		"response-status": {"418", map[string]string{"418.0": "a whole number from 200", "199": "from 200"}},
		"response-delay":  {"2s", map[string]string{"2": "such as 500ms", "31s": "0s to 30s"}},
		"response-headers": {`[{"name":"X-A","value":"b"}]`, map[string]string{`[{"name":"X-A","val":"b"}]`: `unknown field "val"`,
			`[{"name":"X-A","value":"b"}] []`: "not a list such as", `{"X-A":"b"}`: "not a list such as", "x": "not a list such as",
			`[{"name":"a b"}]`: `"a b" is not a header name`, `[{"name":"content-length","value":"1"}]`: "cannot be set",
			`[{"name":"a","value":"b\r\nc: d"}]`: "control character", `[{"name":"content-type","value":"text/html"}]`: "without ECHO_RESPONSE_BODY"}},
		"response-faults": {`[{"statusCode":503}]`, map[string]string{"[null]": "faults[0]", `[{"statusCode":"503"}]`: "faults[0]",
			`[{"status":503}]`: "faults[0]"}},
		"response-body": {" \ufeffbody\r\n", nil},
		"controls":      {"Full", map[string]string{"full": "Safe, Full, or None", "Full,None": "Safe, Full, or None"}},
		"identity":      {"false", map[string]string{"no": `"no" is neither true nor false`, "False": "true nor false", "0": "true nor false"}},
		"log-level": {"debug", map[string]string{"verbose": `"verbose" is neither info nor debug`,
			"DEBUG": "info nor debug", "warn": "info nor debug"}},
		"tls-dir":                {"/tls", nil},
		"tls-secret":             {"web-tls", nil},
		"tls-client-certificate": {"Request", map[string]string{"request": "None, Request, or Require"}},
		"tls-min-version": {"VersionTLS13", map[string]string{"VersionTLS11": `"VersionTLS11" is not VersionTLS12 or VersionTLS13`,
			"1.3": "VersionTLS12 or VersionTLS13"}},
		"tls-ciphers": {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_RSA_WITH_AES_128_CBC_SHA", map[string]string{"TLS_RSA_WITH_AES_128_CBC_SHA,": "is not the IANA name",
			"tls_rsa_with_aes_128_cbc_sha": "is not the IANA name",
			"ECDHE-RSA-AES128-GCM-SHA256": "cipher suite that this server supports: " +
				"the secure suites are TLS_AES_128_GCM_SHA256, "}},
	}
}

// parseSetting parses one setting. For a TLS setting, it also sets a TLS port.
func parseSetting(flag, text string) (Settings, error) {
	environ := []string{option{flag: flag}.variable() + "=" + text}
	if strings.HasPrefix(flag, "tls-") && flag != "tls-addr" {
		environ = append(environ, "ECHO_TLS_ADDR=:8443")
	}
	return ParseSettings("dev", nil, environ, io.Discard)
}

// TestParseSettings_eachSetting checks that each setting has an effect, and that its invalid values are rejected with a reason.
func TestParseSettings_eachSetting(t *testing.T) {
	for _, o := range (&Settings{}).options() {
		row, ok := settingRows()[o.flag]
		if !ok {
			t.Errorf("%s has no row", o.flag)
			continue
		}
		unset, err := parseSetting(o.flag, "")
		if err != nil {
			t.Errorf("%s is empty: %v", o.flag, err)
		}
		if usual, err := parseSetting(o.flag, row.usual); err != nil || reflect.DeepEqual(usual, unset) {
			t.Errorf("%s: %q has no effect, %v", o.flag, row.usual, err)
		}
		for text, why := range row.refused {
			if _, err := parseSetting(o.flag, text); err == nil || !strings.HasPrefix(err.Error(), o.variable()+": ") || !strings.Contains(err.Error(), why) ||
				strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %q gives %v, want %q", o.flag, text, err, why)
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
		"ECHO_WEB_PORT_80_TCP_ADDR=10.0.0.1", "ECHO_DRAIN_DELAY=1s",
		"ECHO_POD_NAME=p", "ECHO_SERVICE_NAME=s"}, io.Discard)
	if want := []string{"ECHO_ADMIN_ADDRESS", "ECHO_TRUSTED_PROXY"}; err != nil || !slices.Equal(s.unknown, want) {
		t.Errorf("got %q, %v, want %q", s.unknown, err, want)
	}
}

// FuzzSettings looks for errors that do not name the setting.
func FuzzSettings(f *testing.F) {
	options := new(Settings).options()
	for i, o := range options {
		row := settingRows()[o.flag]
		f.Add(i, row.usual)
		for text := range row.refused {
			f.Add(i, text)
		}
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		if i < 0 || i >= len(options) || strings.Contains(text, "\x00") { // a variable cannot contain NUL
			t.Skip()
		}
		name := options[i].variable()
		if _, err := ParseSettings("v1", nil, []string{name + "=" + text}, io.Discard); err != nil && !strings.Contains(err.Error(), name) {
			t.Fatalf("the error for %s=%q does not name it: %v", name, text, err)
		}
	})
}

// documentedSection returns the commands in a section of a page, and their documented output. The commands require curl and jq.
//
//nolint:unparam // make verify reads the page from the calls
func documentedSection(t *testing.T, page, heading string) []fences.Step {
	t.Helper()
	for _, program := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("no " + program + " here")
		}
	}
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	return fences.Steps(fences.Section(string(text), heading))
}

// TestRun_behavesAsDocumented runs documented commands against the real program, and compares their output with the documented output. Some
// commands start the server with an environment variable.
func TestRun_behavesAsDocumented(t *testing.T) {
	const page = "docs/reference/echo-server.md"
	counts := regexp.MustCompile(`(?m)^ +\d+ `) // the counts that uniq prints, which vary
	for name, c := range map[string]struct {
		steps   []fences.Step
		number  int
		isWhole bool // whether the page shows the whole output
	}{
		"the response": {documentedSection(t, page, "## The response"), 3, false},
		"faults":       {documentedSection(t, page, "## Faults"), 10, true},
		"proofs":       {documentedSection(t, page, "## Proofs"), 2, true},
	} {
		if len(c.steps) != c.number {
			t.Errorf("%s: %d commands are found", name, len(c.steps))
		}
		p := start(t)
		for _, step := range c.steps {
			if variable, ok := strings.CutSuffix(step.Commands, "' echo-server\n"); ok {
				p = start(t, strings.Replace(variable, "='", "=", 1))
				continue
			}
			address := strings.TrimPrefix(p.url, "http://")
			_, port, _ := strings.Cut(address, ":")
			command := exec.Command("bash", "-c", strings.ReplaceAll(step.Commands, "localhost:8080", address))
			output, err := command.CombinedOutput()
			got := counts.ReplaceAllString(strings.TrimRight(string(output), "\n"), "N ")
			step.Output = strings.NewReplacer("localhost:8080", address, `"8080"`, `"`+port+`"`).Replace(step.Output)
			want := counts.ReplaceAllString(strings.TrimRight(step.Output, "\n"), "N ")
			if err != nil || c.isWhole && got != want || !c.isWhole && step.Missing(got) != "" {
				t.Errorf("%s: %v, the output is %s, want %s", step.Commands, err, got, want)
			}
		}
	}
}

// TestRun_servesTLSAsDocumented runs a documented command against the real program, and compares its output with the documented output.
func TestRun_servesTLSAsDocumented(t *testing.T) {
	steps := documentedSection(t, "docs/reference/echo-server.md", "## TLS")
	if len(steps) != 1 {
		t.Fatalf("%d commands are found", len(steps))
	}
	a := echotest.NewAuthority(t, "authority")
	volume := echotest.NewSecretVolume(t, echotest.SecretKeys(a.Issue(t, "localhost"), a.PEM))
	p := start(t, "ECHO_TLS_ADDR=127.0.0.1:0", "ECHO_TLS_DIR="+volume.Folder)
	_, port, err := net.SplitHostPort(p.https)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("bash", "-c", strings.ReplaceAll(steps[0].Commands, "8443", port))
	run.Dir = volume.Folder // the directory that contains ca.crt
	if output, err := run.CombinedOutput(); err != nil || string(output) != steps[0].Output {
		t.Errorf("%s: %v, got %s", steps[0].Commands, err, output)
	}
}

// TestRun_replacesOtherEchoServers sends each request in the tables of a how-to page to the real program, and compares the response with
// the last cell of the row. It stops curl after 2.5 s, because an event stream does not end.
func TestRun_replacesOtherEchoServers(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("no curl here")
	}
	page, err := os.ReadFile("../../docs/how-to/coming-from-another-echo-server.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\|(.*)\\| `(curl [^`]*)` \\|(.*)\\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) != 28 {
		t.Errorf("%d rows have a request", len(rows))
	}
	p := start(t)
	address := strings.TrimPrefix(p.url, "http://")
	for _, row := range rows {
		t.Run(strings.TrimSpace(row[1]), func(t *testing.T) {
			t.Parallel()
			command := strings.ReplaceAll(strings.Replace(row[2], "curl ", "curl -si --max-time 2.5 ", 1), "localhost:8080", address)
			began := time.Now()
			output, _ := exec.CommandContext(t.Context(), "bash", "-c", command).Output() // curl fails when --max-time ends a stream
			took, response := time.Since(began), strings.ReplaceAll(string(output), address, "localhost:8080")
			if !strings.HasPrefix(response, "HTTP/") || strings.HasPrefix(response, "HTTP/1.1 400") {
				t.Fatalf("%s: the response is %q", command, response)
			}
			for _, want := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[3], -1) {
				if !regexp.MustCompile(`(?m)^ *` + regexp.QuoteMeta(want[1])).MatchString(response) {
					t.Errorf("%s: no line of the response begins with %q: %s", command, want[1], response)
				}
				if _, text, ok := strings.Cut(want[1], "delay="); ok {
					if delay, err := time.ParseDuration(text); err != nil || took < delay {
						t.Errorf("%s: the response arrived after %v, %v", command, took, err)
					}
				}
			}
		})
	}
}
