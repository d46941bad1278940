package tracing

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultTimeout is how long a request to the collector may take, unless the environment says otherwise.
	defaultTimeout = 10 * time.Second
	longestTimeout = time.Minute
	// forTraces and forAll are what the names of variables begin with. The former take precedence.
	forTraces = "OTEL_EXPORTER_OTLP_TRACES_"
	forAll    = "OTEL_EXPORTER_OTLP_"
)

// Settings say where spans are sent. The zero value says nowhere.
type Settings struct {
	endpoint *url.URL
	headers  map[string]string
	timeout  time.Duration
	// authorities are those that may have signed the certificate of the collector, nil for those of the system.
	authorities *x509.CertPool
}

// ReadSettings reads the environment variables that OpenTelemetry specifies for exporters:
// https://opentelemetry.io/docs/specs/otel/protocol/exporter. The libraries read others, such as those of samplers, themselves.
func ReadSettings(getenv func(string) string) (Settings, error) {
	e, s := environment(getenv), Settings{}
	if off, err := e.off(); off || err != nil {
		return s, err
	}
	for _, read := range []func(*Settings) error{e.endpoint, e.protocol, e.headers, e.timeout, e.authorities} {
		if err := read(&s); err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

// environment returns the value of a variable, empty if it is not set.
type environment func(string) string

// find returns the variable that ends in a word: that for traces or, if it is not set, that for all signals.
func (e environment) find(word string) (name, value string) {
	for _, prefix := range []string{forTraces, forAll} {
		name = prefix + word
		if value = strings.TrimSpace(e(name)); value != "" {
			break
		}
	}
	return name, value
}

// off reports whether no spans are to be sent.
func (e environment) off() (bool, error) {
	if _, endpoint := e.find("ENDPOINT"); endpoint == "" || strings.EqualFold(e("OTEL_SDK_DISABLED"), "true") {
		return true, nil
	}
	switch exporter := strings.TrimSpace(e("OTEL_TRACES_EXPORTER")); exporter {
	case "", "otlp":
		return false, nil
	case "none":
		return true, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not otlp or none", exporter)
	}
}

// endpoint reads where to send spans.
func (e environment) endpoint(s *Settings) error {
	name, value := e.find("ENDPOINT")
	endpoint, err := url.Parse(value)
	if err != nil || endpoint.Scheme != "http" && endpoint.Scheme != "https" || endpoint.Hostname() == "" {
		return fmt.Errorf("%s: %q is not a URL such as http://collector.observability.svc:4318", name, value)
	}
	if name == forAll+"ENDPOINT" {
		endpoint = endpoint.JoinPath("v1", "traces")
	}
	s.endpoint = endpoint
	return nil
}

// protocol refuses protocols that would require large libraries.
func (e environment) protocol(*Settings) error {
	if name, value := e.find("PROTOCOL"); value != "" && value != "http/json" {
		return fmt.Errorf("%s: %q is not supported: set it to http/json, and the endpoint to where the collector receives OTLP over HTTP, mostly port 4318",
			name, value)
	}
	return nil
}

// headers reads the headers of requests to the collector. Its errors do not tell values, which may be secret.
func (e environment) headers(s *Settings) error {
	name, list := e.find("HEADERS")
	s.headers = map[string]string{}
	for i, entry := range strings.Split(list, ",") {
		if strings.TrimSpace(entry) == "" {
			continue
		}
		key, value, found := strings.Cut(entry, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || key == "" || err != nil {
			return fmt.Errorf("%s: entry %d is not name=value, with special characters in the form %%20", name, i+1)
		}
		s.headers[key] = value
	}
	return nil
}

// timeout reads how long a request to the collector may take.
func (e environment) timeout(s *Settings) error {
	name, value := e.find("TIMEOUT")
	if value == "" {
		s.timeout = defaultTimeout
		return nil
	}
	milliseconds, err := strconv.Atoi(value)
	s.timeout = time.Duration(milliseconds) * time.Millisecond
	if err != nil || milliseconds < 1 || s.timeout > longestTimeout {
		return fmt.Errorf("%s: %q is not a number of milliseconds from 1 to %d", name, value, longestTimeout.Milliseconds())
	}
	return nil
}

// authorities reads the certificates of a file, if one is given.
func (e environment) authorities(s *Settings) error {
	name, path := e.find("CERTIFICATE")
	if path == "" {
		return nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.authorities = x509.NewCertPool()
	if !s.authorities.AppendCertsFromPEM(content) {
		return fmt.Errorf("%s: %s contains no certificate in PEM format", name, path)
	}
	return nil
}
