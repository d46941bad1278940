package controls

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// MaxDelay is the maximum delay of a response.
	MaxDelay = 30 * time.Second
	// MaxSize is the maximum response size, in bytes, that a request can set.
	MaxSize = 16 << 20
	// maxFailures is the maximum value of the failures field of a fault and of the failures control.
	maxFailures = 1000
)

// ParseStatus parses a response status.
func ParseStatus(text string) (int, error) { return ParseWhole(text, 200, 599) }

// ParseWhole parses an integer within bounds.
func ParseWhole(text string, least, most int) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < least || number > most {
		return 0, fmt.Errorf("%.100q is not a whole number from %d to %d", text, least, most)
	}
	return number, nil
}

// ParseDelay parses a response delay.
func ParseDelay(text string) (time.Duration, error) {
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 || delay > MaxDelay {
		return 0, fmt.Errorf("%.100q is not a duration from 0s to %s, such as 500ms", text, MaxDelay)
	}
	return delay, nil
}

// setDelay sets the delay to a duration such as 2s, or to a range such as 100ms-2s.
func (c *Controls) setDelay(values []string, _ Policy) error {
	text := values[0]
	shortest, longest, isRange := strings.Cut(text, "-")
	if !isRange {
		c.delayUpTo = 0
		return Into(&c.Delay, ParseDelay)(text)
	}
	err := errors.Join(Into(&c.Delay, ParseDelay)(shortest), Into(&c.delayUpTo, ParseDelay)(longest))
	if err != nil || c.delayUpTo < c.Delay {
		return fmt.Errorf("%.100q is neither a duration from 0s to %s nor a range such as 100ms-2s", text, MaxDelay)
	}
	return nil
}

// ParseDefaultHeaders parses the headers that are added to every response.
func ParseDefaultHeaders(text string) ([]Header, error) {
	var headers []Header
	if err := decodeStrictly([]byte(text), &headers); err != nil {
		return nil, fmt.Errorf(`not a list such as [{"name": "Retry-After", "value": "7"}]: %w`, err)
	}
	for i, each := range headers {
		if err := errors.Join(checkSyntax(each), checkFraming(each.Name)); err != nil {
			return nil, err
		}
		headers[i].Value = strings.Trim(each.Value, " \t")
	}
	return headers, nil
}

// Into returns a function that parses a string and stores the result in target.
func Into[T any](target *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*target, err = parse(text)
		return err
	}
}

// OneOf returns a function that parses one of several values. Errors consist of the quoted text, followed by the given reason.
func OneOf[T ~string](reason string, values ...T) func(string) (T, error) {
	return func(text string) (T, error) {
		if slices.Contains(values, T(text)) {
			return T(text), nil
		}
		return "", fmt.Errorf("%.100q %s", text, reason)
	}
}

// ByName returns a function that parses the name of a value. Errors consist of the quoted text, followed by the given reason.
func ByName[T any](reason string, values map[string]T) func(string) (T, error) {
	return func(text string) (T, error) {
		value, ok := values[text]
		if !ok {
			return value, fmt.Errorf("%q %s", text, reason)
		}
		return value, nil
	}
}

// ParseBoolean parses "true" and "false".
func ParseBoolean(text string) (bool, error) {
	return ByName("is neither true nor false", map[string]bool{"true": true, "false": false})(text)
}

// parseHeader parses "Name: value" and rejects headers that a request must not set.
func parseHeader(text string, policy Policy) (Header, error) {
	name, value, ok := strings.Cut(text, ":")
	if !ok {
		return Header{}, fmt.Errorf("%.100q is not a header such as X-Color: blue", text)
	}
	h := Header{Name: http.CanonicalHeaderKey(strings.TrimSpace(name)), Value: strings.TrimSpace(value)}
	if err := cmp.Or(checkSyntax(h), checkFraming(h.Name), checkTrust(h.Name), policy.checkHeader(h)); err != nil {
		return Header{}, err
	}
	if h.Name == "Content-Type" {
		return h, checkMediaType(h.Value)
	}
	return h, nil
}

// splitHeaders splits lists of headers that are separated by commas (RFC 9110, 5.3). A comma that is not followed by a header name is part
// of the value. Lists that are too large are not split, because addHeaders rejects them.
func splitHeaders(lists []string) []string {
	text := strings.Join(lists, ",")
	if len(text) > maxSetBytes {
		return lists
	}
	var headers []string
	begin, read := 0, 0
	for length := strings.IndexByte(text, ':'); length >= 0; length = strings.IndexByte(text[read:], ':') {
		colon := read + length
		comma := strings.LastIndexByte(text[read:colon], ',')
		if comma >= 0 && httpguts.ValidHeaderFieldName(strings.TrimSpace(text[read+comma+1:colon])) {
			headers = append(headers, text[begin:read+comma])
			begin = read + comma + 1
		}
		read = colon + 1
	}
	if lists == nil {
		return nil
	}
	return append(headers, text[begin:])
}

func checkSyntax(h Header) error {
	if !httpguts.ValidHeaderFieldName(h.Name) { // RFC 9110, 5.6.2
		return fmt.Errorf("%.100q is not a header name: a name consists of letters, digits, and !#$%%&'*+-.^_`|~", h.Name)
	}
	if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("the value of %.100s contains a control character", h.Name)
	}
	return nil
}

// checkFraming rejects headers that belong to the connection rather than to the response (RFC 9110, 7.6.1).
func checkFraming(name string) error {
	switch http.CanonicalHeaderKey(name) {
	case "Connection", "Content-Length", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te",
		"Trailer", "Transfer-Encoding", "Upgrade":
		return fmt.Errorf("%s cannot be set: it belongs to the connection", name)
	}
	return nil
}

// checkTrust rejects headers that let the author of a link change what a browser stores or allows. The name must be in canonical form.
func checkTrust(name string) error {
	refused := []string{"Alt-Svc", "Clear-Site-Data", "Content-Security-Policy", "Content-Security-Policy-Report-Only", "Nel", "Report-To",
		"Reporting-Endpoints", "Service-Worker-Allowed", "Set-Cookie", "Set-Cookie2", "Strict-Transport-Security", "Timing-Allow-Origin",
		"X-Content-Type-Options", "X-Echo-Applied"}
	if slices.Contains(refused, name) || strings.HasPrefix(name, "Access-Control-") || strings.HasPrefix(name, "Cross-Origin-") {
		return fmt.Errorf("%.100s cannot be set by a request", name)
	}
	return nil
}

// checkMediaType rejects types that a browser may execute.
func checkMediaType(text string) error {
	allowed := []string{"application/json", "application/problem+json", "application/octet-stream", "text/csv", "text/plain"}
	mediaType, parameters, err := mime.ParseMediaType(text)
	delete(parameters, "charset")
	if err != nil || len(parameters) > 0 || !slices.Contains(allowed, mediaType) {
		return fmt.Errorf("the Content-Type %.100q is not one of %s", text, strings.Join(allowed, ", "))
	}
	return nil
}
