package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/echo-operator/echo-operator/echoserver/controls"
	"github.com/echo-operator/echo-operator/echoserver/describe"
	"github.com/echo-operator/echo-operator/echoserver/transport"
	"github.com/echo-operator/echo-operator/internal/process"
)

const usage = "echo-server [flags]\n       echo-server healthcheck [flags]   # check whether the server with these flags is ready"

// Settings contains the values of the server's flags and environment variables.
type Settings struct {
	httpAddress    string
	AdminAddress   string // of metrics and probes
	drainDelay     time.Duration
	trustedProxies []netip.Prefix
	redaction      describe.Redaction
	response       controls.Controls // the default response
	faults         []controls.Fault
	maxHeaderBytes int
	controls       controls.Policy
	identity       describe.Identity
	showIdentity   bool
	tls            transport.TLSSettings
	unknown        []string // environment variables that look like settings but are not
	version        string   // the version of the program
	LogLevel       slog.Level
	Listen         transport.ListenFunc // opens the ports; with nil, they are on the network, which tests can replace
}

// option is a setting. Its environment variable is named after its flag, such as ECHO_DRAIN_DELAY for drain-delay.
type option struct {
	flag        string
	defaultText string
	usage       string
	parse       func(string) error
}

func (o option) variable() string {
	return "ECHO_" + strings.ToUpper(strings.ReplaceAll(o.flag, "-", "_"))
}

// options returns all settings, each with a function that parses its value into s.
func (s *Settings) options() []option {
	return []option{
		{"http-addr", ":8080", "the `ADDRESS` for HTTP/1.1 and HTTP/2 without TLS", controls.Into(&s.httpAddress, parseAddress)},
		{"admin-addr", ":9090", "the `ADDRESS` to serve /metrics, /livez, and /readyz on", controls.Into(&s.AdminAddress, parseAddress)},
		{"drain-delay", "5s", "how long to respond after SIGTERM before stopping, a `DURATION` such as 500ms",
			controls.Into(&s.drainDelay, parseDrainDelay)},
		{"trusted-proxies", "", "`ADDRESSES` and CIDRs of proxies whose X-Forwarded-For and Forwarded are trusted, separated by commas",
			controls.Into(&s.trustedProxies, describe.ParseTrustedProxies)},
		{"redact-headers", "", "`NAMES` of additional request headers to redact, separated by commas; none turns redaction off",
			controls.Into(&s.redaction, describe.ParseRedaction)},
		{"max-header-bytes", strconv.Itoa(transport.DefaultHeaderBytes),
			"the maximum size of a request header in `BYTES`, from 8192 to 65536, including the request line",
			controls.Into(&s.maxHeaderBytes, transport.ParseHeaderBytes)},
		{"response-status", "", "the default `STATUS` of responses, from 200 to 599", controls.Into(&s.response.Status, controls.ParseStatus)},
		{"response-delay", "", "the default delay of responses, a `DURATION` of up to 30s",
			controls.Into(&s.response.Delay, controls.ParseDelay)},
		{"response-headers", "", "`JSON` with headers to add to responses, such as [{\"name\": \"Retry-After\", \"value\": \"7\"}]",
			controls.Into(&s.response.Headers, controls.ParseDefaultHeaders)},
		{"response-faults", "", "`JSON` with faults to apply to some responses, such as [{\"percentage\": 30, \"statusCode\": 503}]",
			controls.Into(&s.faults, controls.ParseFaults)},
		{"controls", "Safe", "the `LEVEL` of control that requests have: Safe, Full (only for private networks), or None",
			controls.Into(&s.controls, controls.OneOf("is not Safe, Full, or None", controls.Safe, controls.Full, controls.None))},
		{"identity", "true", "`true|false`: whether responses include the pod, node, addresses, and version",
			controls.Into(&s.showIdentity, controls.ParseBoolean)},
		{"log-level", "info", "the lowest `LEVEL` of log lines: info, or debug, which adds WebSocket handshakes",
			controls.Into(&s.LogLevel, controls.ByName("is neither info nor debug",
				map[string]slog.Level{"info": slog.LevelInfo, "debug": slog.LevelDebug}))},
		{"response-body", "", "the `TEXT` that is the default body of responses; it replaces the echo", controls.Into(&s.response.Body, asIs)},
		{"tls-addr", "", "the `ADDRESS` for HTTP/1.1 and HTTP/2 with TLS; empty means no TLS port", controls.Into(&s.tls.Address, parseAddress)},
		{"tls-dir", "/etc/echo-server/tls", "the `DIRECTORY` that contains tls.crt, tls.key, and ca.crt",
			controls.Into(&s.tls.Folder, parseFolder)},
		{"tls-secret", "", "the `NAME` of the Secret that is mounted at tls-dir; used only in messages", controls.Into(&s.tls.Secret, asIs)},
		{"tls-client-certificate", transport.ClientCertificateNone, "the `MODE` of client certificates: None, Request, or Require",
			controls.Into(&s.tls.ClientCertificate, controls.OneOf("is not None, Request, or Require",
				transport.ClientCertificateNone, transport.ClientCertificateRequest, transport.ClientCertificateRequire))},
		{"tls-min-version", "VersionTLS12", "the lowest `VERSION` of TLS: VersionTLS12 or VersionTLS13",
			controls.Into(&s.tls.MinVersion, controls.ByName("is not VersionTLS12 or VersionTLS13",
				map[string]uint16{"VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}))},
		{"tls-ciphers", "", "the TLS 1.2 `CIPHERS` as IANA names, separated by commas; the cipher suites of TLS 1.3 are fixed",
			controls.Into(&s.tls.Ciphers, transport.ParseCiphers)},
	}
}

func parseAddress(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	_, ipErr := netip.ParseAddr(host)
	// A name must contain a letter, so 127.0.0.256 is not a name.
	isName := regexp.MustCompile(`^[-_.0-9A-Za-z]*[A-Za-z][-_.0-9A-Za-z]*$`).MatchString(host)
	if err != nil || host != "" && ipErr != nil && !isName {
		return "", fmt.Errorf("%q is not an address such as :8080 or 127.0.0.1:8080", text)
	}
	return text, nil
}

func parseDrainDelay(text string) (time.Duration, error) {
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 {
		return 0, fmt.Errorf("%q is not a duration such as 5s or 500ms", text)
	}
	return delay, nil
}

func parseFolder(text string) (string, error) {
	if text == "" {
		return "", errors.New(`"" is not a directory such as /etc/echo-server/tls`)
	}
	return text, nil
}

func asIs(text string) (string, error) { return text, nil }

// ParseSettings parses flags and environment variables. Flags take precedence. An empty variable is treated as unset. Errors contain the
// name of the flag or variable and describe the valid values. For --help and --version, it returns pflag.ErrHelp.
func ParseSettings(version string, arguments, environ []string, stdout io.Writer) (Settings, error) {
	env := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	s := Settings{identity: describe.Identify(env)}
	given, err := parseFlags(s.options(), version, arguments, stdout)
	if err != nil {
		return s, err
	}
	for _, o := range s.options() {
		name, text := o.variable(), env[o.variable()]
		if fromFlag, ok := given[o.flag]; ok {
			name, text = "--"+o.flag, fromFlag
		} else if text == "" {
			text = o.defaultText
		}
		if text == "" && o.defaultText == "" { // not set
			continue
		}
		if err := o.parse(text); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	s.unknown = s.unknownVariables(env)
	return s, errors.Join(s.response.Consistent(), s.consistent())
}

func parseFlags(options []option, version string, arguments []string, stdout io.Writer) (map[string]string, error) {
	flags := pflag.NewFlagSet("echo-server", pflag.ContinueOnError)
	given := map[string]string{}
	for _, o := range options {
		usage := fmt.Sprintf("%s (environment variable: %s; default %q)", o.usage, o.variable(), o.defaultText)
		flags.Func(o.flag, usage, func(text string) error {
			given[o.flag] = text
			return nil
		})
	}
	err := process.ParseFlags(flags, usage, version, arguments, stdout)
	if err == nil && flags.NArg() > 0 {
		err = &process.UsageError{Usage: usage,
			Err: fmt.Errorf("unexpected argument %q: settings are flags such as --http-addr=:8080", flags.Arg(0))}
	}
	return given, err
}

// unknownVariables returns the environment variables that begin with ECHO_ but are neither settings nor set by Kubernetes for Services.
func (s *Settings) unknownVariables(env map[string]string) []string {
	options := s.options()
	ofService := regexp.MustCompile(`_SERVICE_(HOST|PORT(_.*)?)$|_PORT(_[0-9]+_[A-Z]+(_.*)?)?$`)
	var unknown []string
	for name := range env {
		isSetting := slices.ContainsFunc(options, func(o option) bool { return o.variable() == name })
		if strings.HasPrefix(name, "ECHO_") && !isSetting && !describe.IsIdentity(name) && !ofService.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// consistent returns an error if valid settings conflict with each other.
func (s *Settings) consistent() error {
	if s.tls.Address == "" && s.tls.ClientCertificate != transport.ClientCertificateNone {
		return errors.New("ECHO_TLS_CLIENT_CERTIFICATE: no port uses TLS: set ECHO_TLS_ADDR, for example to :8443")
	}
	addresses := []struct{ name, address string }{
		{"ECHO_HTTP_ADDR", s.httpAddress}, {"ECHO_ADMIN_ADDR", s.AdminAddress}, {"ECHO_TLS_ADDR", s.tls.Address}}
	for i, each := range addresses {
		for _, other := range addresses[:i] {
			if overlap(each.address, other.address) {
				return fmt.Errorf("%s: %q uses the same port as %s, %q", each.name, each.address, other.name, other.address)
			}
		}
	}
	return nil
}

// overlap reports whether two addresses conflict: if they do, it is not possible to listen on both. Port 0, any free port, never conflicts.
func overlap(a, b string) bool {
	hostA, portA, _ := net.SplitHostPort(a)
	hostB, portB, _ := net.SplitHostPort(b)
	number, err := strconv.Atoi(portA)
	other, otherErr := strconv.Atoi(portB)
	return err == nil && otherErr == nil && number == other && number != 0 && (hostA == hostB || isAny(hostA) || isAny(hostB))
}

func isAny(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.Unmap().IsUnspecified()
}
