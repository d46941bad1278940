package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// settings are what the server is told when it starts.
type settings struct {
	httpAddress    string
	adminAddress   string
	drainDelay     time.Duration
	trustedProxies []netip.Prefix
	redaction      redaction
	response       controls // what is answered where a request asks for nothing else
	identity       identity
}

// option is a setting by its flag. Its environment variable is ECHO_ and the flag's name: drain-delay is ECHO_DRAIN_DELAY.
type option struct {
	flag      string
	otherwise string
	usage     string
	parse     func(string) error
}

func (o option) variable() string {
	return "ECHO_" + strings.ToUpper(strings.ReplaceAll(o.flag, "-", "_"))
}

// options are all that can be set, parsed into s.
func (s *settings) options() []option {
	return []option{
		{"http-addr", ":8080", "where to serve HTTP/1.1 and h2c", parsedInto(&s.httpAddress, parseAddress)},
		{"admin-addr", ":9090", "where to serve /metrics, /livez and /readyz", parsedInto(&s.adminAddress, parseAddress)},
		{"drain-delay", "5s", "how long to go on answering after SIGTERM", parsedInto(&s.drainDelay, parseDrainDelay)},
		{"trusted-proxies", "", "addresses and CIDRs whose X-Forwarded-For and Forwarded are believed, separated by commas",
			parsedInto(&s.trustedProxies, parseTrustedProxies)},
		{"redact-headers", "", "request headers to redact beside the usual ones, separated by commas; none: redact nothing",
			parsedInto(&s.redaction, parseRedaction)},
		{"response-status", "", "the status to answer with", optional(&s.response.status, parseStatus)},
		{"response-delay", "", "how long to hold each answer back", optional(&s.response.delay, parseDelay)},
		{"response-headers", "", `headers to answer with, such as [{"name": "Retry-After", "value": "7"}]`,
			optional(&s.response.headers, parseDefaultHeaders)},
		{"response-body", "", "what to answer instead of the echo", parsedInto(&s.response.body, asIs)},
	}
}

// parsedInto keeps in target what parse makes of a text.
func parsedInto[T any](target *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*target, err = parse(text)
		return err
	}
}

// optional is parsedInto for a text that may be empty, which leaves target as it is.
func optional[T any](target *T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return parsedInto(target, parse)(text)
	}
}

// parseSettings reads the command line; where a flag is not given, the environment counts. An empty variable is as good as
// none. Errors name the flag or the variable and say what would be right.
func parseSettings(arguments, environ []string, help io.Writer) (settings, error) {
	env := environment(environ)
	s := settings{identity: identify(env)}
	given, err := parseFlags(s.options(), arguments, help)
	if err != nil {
		return s, err
	}
	for _, o := range s.options() {
		name, text := o.variable(), env[o.variable()]
		if fromFlag, ok := given[o.flag]; ok {
			name, text = "--"+o.flag, fromFlag
		} else if text == "" {
			text = o.otherwise
		}
		if err := o.parse(text); err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, s.response.consistent()
}

// parseFlags returns the texts of the flags that are given.
func parseFlags(options []option, arguments []string, help io.Writer) (map[string]string, error) {
	flags := flag.NewFlagSet("echo-server", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one line, not the usage
	given := map[string]string{}
	for _, o := range options {
		flags.Func(o.flag, fmt.Sprintf("%s (environment: %s; default %q)", o.usage, o.variable(), o.otherwise), func(text string) error {
			given[o.flag] = text
			return nil
		})
	}
	err := flags.Parse(arguments)
	if errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(help)
		flags.PrintDefaults()
	}
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q: settings are flags such as --http-addr=:8080", flags.Arg(0))
	}
	return given, err
}

// environment is a list of NAME=value, by name.
func environment(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

func parseAddress(text string) (string, error) {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
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

func asIs(text string) (string, error) { return text, nil }
