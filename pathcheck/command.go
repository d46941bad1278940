package pathcheck

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http/httpproxy"

	"github.com/echo-operator/echo-operator/internal/certificates"
	"github.com/echo-operator/echo-operator/internal/process"
	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// Command is the command line for programs that examine paths.
type Command struct {
	// OwnService is the URL of the Echo's Service, to which Run connects once if the main URL does not respond. It may be empty.
	OwnService string

	address, name, source, groups, ca, output string
	headerFile, certificate, key              string
	headers                                   []string
	expect                                    []Expectation
	deadline                                  time.Duration
}

// Flags adds the command's flags.
func (c *Command) Flags(flags *pflag.FlagSet) {
	all, optIn := GroupNames()
	flags.StringVar(&c.address, "address", "",
		"the `ADDRESS` to which requests are sent directly, with an optional port, instead of the address from DNS")
	flags.StringVar(&c.source, "source", "", "the `ADDRESS` from which requests are sent, on a machine with several addresses")
	flags.StringVar(&c.name, "name", "", "the Echo that must respond, as `NAMESPACE/NAME`; empty means any")
	flags.StringVar(&c.groups, "groups", "", "the `GROUPS` to examine, separated by commas: "+strings.Join(all,
		", ")+", or all; empty means all except "+strings.Join(optIn, " and ")+"; the groups of expectations are always examined")
	flags.StringVar(&c.ca, "ca-file", "", "a `FILE` with PEM certificates to trust in addition to the certificate authorities that browsers trust")
	flags.StringArrayVarP(&c.headers, "header", "H", nil,
		"a `HEADER` for each request, such as 'X-Api-Key: value', if the path requires it; no report contains the value; can be repeated")
	flags.StringVar(&c.headerFile, "header-file", "",
		"a `FILE` with one header per line, as for --header, so that process lists do not show the values")
	flags.StringVar(&c.certificate, "cert", "", "a `FILE` with a client certificate in PEM format, for servers that request one")
	flags.StringVar(&c.key, "key", "", "a `FILE` with the private key for --cert in PEM format, unless the --cert file contains the key")
	flags.StringVarP(&c.output, "output", "o", "text",
		"the `FORMAT` of the report: text, json, html, or expect, which is YAML for an Echo's check that expects the current facts")
	flags.DurationVar(&c.deadline, "deadline", 2*time.Minute,
		"the maximum `DURATION` of the run, such as 90s; the report contains the facts found by then")
	flags.Func("expect", "an expectation, `FACT=VALUE`, with =, !=, >=, or <=, and values separated by |, such as client.address=kept or "+
		"body.max>=10Mi; can be repeated",
		func(text string) error {
			e, err := verdict.ParseExpectation(text)
			c.expect = append(c.expect, e)
			return cmp.Or(err, e.Exists())
		})
}

// formats returns, for each value of --output, the method that writes a report in this format.
func formats() map[string]func(*Report, io.Writer) error {
	return map[string]func(*Report, io.Writer) error{"text": (*Report).WriteText, "json": (*Report).WriteJSON, "html": (*Report).WriteHTML,
		"expect": (*Report).WriteExpect}
}

// FormatNames returns the names of the report formats.
func FormatNames() []string { return slices.Sorted(maps.Keys(formats())) }

// Run examines the path to a URL, and writes the report.
func (c *Command) Run(ctx context.Context, url, version string, out io.Writer) (*Report, error) {
	options, err := c.options(url, version)
	if err != nil {
		return nil, err
	}
	options.limits = wire.NewLimits()
	stop := showProgress(os.Stderr, options.limits)
	report, err := Run(ctx, options)
	stop()
	if err != nil {
		return nil, err
	}
	return report, formats()[c.output](report, out)
}

// showProgress writes the number of requests to a terminal each second, until the returned function removes it.
func showProgress(terminal *os.File, limits *wire.Limits) (stop func()) {
	info, err := terminal.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	began, done := time.Now(), make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for ticks := time.Tick(time.Second); ; {
			select {
			case <-ticks:
				_, _ = fmt.Fprintf(terminal, "\r%d requests, %.0fs", limits.Sent(), time.Since(began).Seconds())
			case <-done:
				_, _ = fmt.Fprint(terminal, "\r\x1b[K") // removes the line
				return
			}
		}
	})
	return func() {
		close(done)
		writing.Wait()
	}
}

// nameOfEcho does not match names that no Echo can have.
var nameOfEcho = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

// options returns the options for a run. Its errors name the invalid flag.
func (c *Command) options(url, version string) (*Options, error) {
	if _, ok := formats()[c.output]; !ok {
		return nil, fmt.Errorf("--output: %q is not text, json, html, or expect", c.output)
	}
	headers, invalid := c.readHeaders()
	certificate, noCertificate := c.readCertificate()
	if err := cmp.Or(invalid, noCertificate); err != nil {
		return nil, err
	}
	o := &Options{URL: url, Address: c.address, Service: c.OwnService, Headers: headers, Certificate: certificate, Expect: c.expect,
		Version: version, Deadline: c.deadline}
	switch c.groups {
	case "":
	case "all":
		o.Groups, _ = GroupNames() // checks list groups by name
	default:
		o.Groups = strings.Split(c.groups, ",")
	}
	if c.deadline <= 0 {
		return nil, fmt.Errorf("--deadline: %s must be longer than 0s", c.deadline)
	}
	if _, err := wire.ParseTarget("http://localhost", o.Address); err != nil {
		return nil, fmt.Errorf("--address: %w", err)
	}
	if u, err := verdict.ParseURL(url); err == nil && c.address == "" { // Run reports that the URL is not valid
		proxies := httpproxy.FromEnvironment()
		if err := process.ValidateProxies(*proxies); err != nil {
			return nil, err
		}
		o.Proxy, _ = proxies.ProxyFunc()(u) // fails only in CGI programs
	}
	if c.name != "" {
		if !nameOfEcho.MatchString(c.name) {
			return nil, fmt.Errorf("--name: %q is not NAMESPACE/NAME, such as shop/web", c.name)
		}
		o.Echo.Namespace, o.Echo.Name, _ = strings.Cut(c.name, "/")
	}
	if c.source != "" {
		source, err := netip.ParseAddr(c.source)
		if err != nil {
			return nil, fmt.Errorf("--source: %q is not an IP address without a port, such as 192.0.2.1", c.source)
		}
		o.Source = source.Unmap()
	}
	var err error
	o.CA, err = readAuthorities(c.ca)
	return o, err
}

// readAuthorities returns the certificates in a file. It rejects incomplete PEM blocks, which would otherwise be ignored.
func readAuthorities(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", err)
	}
	if _, err := certificates.Parse(data); err != nil {
		return nil, fmt.Errorf("--ca-file: %s: %w", file, err)
	}
	return []byte(process.WithoutMark(string(data))), nil
}

// readHeaders returns the headers from the file, followed by the headers from the flags. Its errors contain no header values.
func (c *Command) readHeaders() (headers []Header, err error) {
	if c.headerFile != "" {
		content, err := os.ReadFile(c.headerFile)
		if err != nil {
			return nil, fmt.Errorf("--header-file: %w", err)
		}
		for i, line := range strings.Split(process.WithoutMark(string(content)), "\n") {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			header, err := parseHeader(line)
			if err != nil {
				return nil, fmt.Errorf("--header-file: line %d %w", i+1, err)
			}
			headers = append(headers, header)
		}
		if headers == nil {
			return nil, fmt.Errorf("--header-file: %s has no header such as X-Api-Key: value", c.headerFile)
		}
	}
	for i, text := range c.headers {
		header, err := parseHeader(text)
		if err != nil {
			return nil, fmt.Errorf("--header: number %d %w", i+1, err)
		}
		headers = append(headers, header)
	}
	return headers, nil
}

// readCertificate returns the client certificate, or nil if no flag names one.
func (c *Command) readCertificate() (*tls.Certificate, error) {
	switch {
	case c.certificate == "" && c.key == "":
		return nil, nil //nolint:nilnil // most paths require none
	case c.certificate == "":
		return nil, errors.New("--key: this flag requires --cert")
	}
	pair, err := tls.LoadX509KeyPair(c.certificate, cmp.Or(c.key, c.certificate))
	if err != nil {
		return nil, fmt.Errorf("--cert: %w", err)
	}
	return &pair, nil
}

// parseHeader parses "Name: value". The caller prefixes the error with the header's position.
func parseHeader(text string) (Header, error) {
	name, value, _ := strings.Cut(text, ":")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	canonical := http.CanonicalHeaderKey(name)
	// These headers would change the type of a request or affect how its response is read.
	reserved := []string{proof.RequestHeader, "Host", "Accept", "Connection", "Content-Length", "Expect", "Keep-Alive", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade"}
	switch {
	case !httpguts.ValidHeaderFieldName(name) || value == "" || !httpguts.ValidHeaderFieldValue(value):
		return Header{}, errors.New("is not a header such as 'X-Api-Key: value', in quotes")
	case strings.HasPrefix(canonical, "Sec-Websocket-"), slices.Contains(reserved, canonical):
		return Header{}, fmt.Errorf("is %s, which pathcheck sets itself", canonical)
	}
	return Header{Name: name, Value: value}, nil
}
