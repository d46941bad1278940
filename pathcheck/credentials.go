package pathcheck

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/echo-operator/echo-operator/internal/process"
	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Header is a header that is sent with every request.
type Header = wire.Field

// credentials holds the flags for the credentials that a path requires.
type credentials struct {
	headers                      []string
	headerFile, certificate, key string
}

// readHeaders returns the headers from the file, followed by the headers from the flags. Its errors contain no header values.
func (c *credentials) readHeaders() (headers []Header, err error) {
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
func (c *credentials) readCertificate() (*tls.Certificate, error) {
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
	switch {
	case !httpguts.ValidHeaderFieldName(name) || value == "" || !httpguts.ValidHeaderFieldValue(value):
		return Header{}, errors.New("is not a header such as 'X-Api-Key: value', in quotes")
	case isReserved(name):
		return Header{}, fmt.Errorf("is %s, which pathcheck sets itself", http.CanonicalHeaderKey(name))
	}
	return Header{Name: name, Value: value}, nil
}

// isReserved reports whether a header would change the type of a request or affect how its response is read.
func isReserved(name string) bool {
	name = http.CanonicalHeaderKey(name)
	return strings.HasPrefix(name, "Sec-Websocket-") || slices.Contains([]string{proof.RequestHeader, "Host", "Accept", "Connection",
		"Content-Length", "Expect", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}, name)
}
