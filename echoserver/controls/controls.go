// Package controls determines how a request or the settings change a response: status, delay, headers, size, format, and faults.
//
// Code that handles all controls reads a table with a row for each control.
package controls

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	queryPrefix  = "echo."
	headerPrefix = "X-Echo-"

	// maxSetHeaders is the maximum number of headers that a request can set.
	maxSetHeaders = 32
	// maxSetBytes is the maximum total size, in bytes, of the names and values of the headers that a request sets.
	maxSetBytes = 8 << 10
)

// Controls change the response, which by default is the echo with status 200 and no delay.
type Controls struct {
	Status     int           // 0 means 200
	Delay      time.Duration // 0 means none
	delayUpTo  time.Duration // if it is longer than Delay, the delay is random between the two
	Headers    []Header
	Size       *int            // the size of the text that replaces the echo; nil means none
	Format     format          // if it is empty, the Accept header determines the format
	Body       string          // replaces the echo unless it is empty; a request cannot set it
	Connection ConnectionFault // empty means that the connection does not fail
	percentage int             // the share of the requests to which the controls apply; 0 means all
	EarlyHints bool            // whether a response with status 103 precedes the final response
	Handshake  bool            // whether the first message of a WebSocket is the echo of its handshake
	failures   int             // the controls apply to this many requests with the same key; 0 means all
	fault      int             // the number of the configured fault that applies, starting at 1; 0 means none
	GRPCStatus int             // the status of a call; 0 means OK
	requested  requested
}

// requested describes a request's controls, as opposed to the defaults.
type requested struct {
	names      []string // without the prefix; controls from headers come first
	setHeaders int
	setBytes   int
}

// Header is a header that a control sets.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// with returns the request's controls, with c as the defaults. The query takes precedence over headers. Errors contain the name of the
// control and describe the valid values.
func (c Controls) with(r *http.Request, policy Policy, target Target) (Controls, error) {
	if policy == None {
		return c, nil
	}
	query, err := queryControls(r.URL.RawQuery)
	hasControls := query != nil || err != nil
	for name := range r.Header {
		hasControls = hasControls || strings.HasPrefix(name, headerPrefix)
	}
	if !hasControls { // nearly all requests
		return c, nil
	}
	return c.requestedBy(r.Header, query, err, policy, target)
}

// requestedBy returns the controls in a request's headers and query, or the error from parsing the query. Other requests must not call it,
// because it allocates memory.
func (c Controls) requestedBy(headers http.Header, query url.Values, err error, policy Policy, target Target) (Controls, error) {
	for name, values := range headers {
		short, ok := strings.CutPrefix(name, headerPrefix)
		if !ok {
			continue
		}
		short = strings.ToLower(short)
		if rowOf(short).repeats {
			values = splitHeaders(values)
			// A list with only empty elements is ignored (RFC 9110, 5.6.1.2). The Gateway API conformance suite's client sends an empty list
			// with each request that asks for no response headers.
			if strings.Trim(strings.Join(values, ","), ", \t") == "" {
				continue
			}
		}
		if err := c.set(short, values, policy, target); err != nil {
			return c, fmt.Errorf("%.100s: %w", name, err)
		}
	}
	if err != nil {
		return c, err
	}
	for name, values := range query {
		if err := c.set(name, values, policy, target); err != nil {
			return c, fmt.Errorf("%s%.100s: %w", queryPrefix, name, err)
		}
	}
	return c, c.checkRequestedFault()
}

// checkRequestedFault completes the controls with which a request defines a fault. It returns an error if they contradict each other.
func (c *Controls) checkRequestedFault() error {
	if c.requests("status") && c.Connection == ConnectionReset {
		return errors.New("connection reset sends no response, so it cannot be combined with status")
	}
	if c.requests("failures") && !c.requests("status", "delay", "connection") {
		c.Status = http.StatusServiceUnavailable
	}
	if c.requests("percentage") && !slices.ContainsFunc(c.requested.names, func(name string) bool { return name != "percentage" }) {
		return errors.New("percentage requires another control, such as status=503, which then applies to this share of requests")
	}
	return nil
}

// set sets the named control to a value from a request. The first control removes the default headers that would let caches store the
// response and send it to other clients.
func (c *Controls) set(name string, values []string, policy Policy, target Target) error {
	row := rowOf(name)
	if len(values) > 1 && !row.repeats {
		return errors.New("specified more than once")
	}
	switch {
	case row.set == nil || row.targets&target != 0:
	case target == Call || target == Other: // ignores the control, because a gateway may add it to all requests
		ignored := *c
		return row.set(&ignored, values, policy)
	default:
		return errors.New("does not apply to this path")
	}
	if len(c.requested.names) == 0 {
		c.Headers = withoutCaching(c.Headers)
	}
	c.requested.names = append(c.requested.names, name)
	if row.set == nil {
		return errors.New("unknown control: the controls are " + requestable())
	}
	return row.set(c, values, policy)
}

// requests reports whether the request has any of the named controls.
func (c *Controls) requests(names ...string) bool {
	return slices.ContainsFunc(c.requested.names, func(name string) bool { return slices.Contains(names, name) })
}

// addHeaders adds headers, which replace existing headers with the same names.
func (c *Controls) addHeaders(values []string, policy Policy) error {
	c.requested.setHeaders += len(values)
	for _, text := range values {
		c.requested.setBytes += len(text)
	}
	if c.requested.setHeaders > maxSetHeaders || c.requested.setBytes > maxSetBytes {
		return fmt.Errorf("a request can set up to %d headers with a total of %d bytes", maxSetHeaders, maxSetBytes)
	}
	added := make([]Header, len(values))
	for i, text := range values {
		each, err := parseHeader(text, policy)
		if err != nil {
			return err
		}
		added[i] = each
	}
	replaced := func(old Header) bool {
		return slices.ContainsFunc(added, func(each Header) bool { return strings.EqualFold(each.Name, old.Name) })
	}
	c.Headers = append(slices.DeleteFunc(slices.Clone(c.Headers), replaced), added...)
	return nil
}

// StatusOrOK returns the status, or 200 if no control sets it.
func (c *Controls) StatusOrOK() int { return cmp.Or(c.Status, http.StatusOK) }

// Consistent returns an error if the defaults contradict each other. Without a fixed body, the Content-Type is restricted, because the echo
// contains data from clients.
func (c *Controls) Consistent() error {
	for _, each := range c.Headers {
		if c.Body == "" && strings.EqualFold(each.Name, "Content-Type") {
			if err := checkMediaType(each.Value); err != nil {
				return fmt.Errorf("ECHO_RESPONSE_HEADERS: without ECHO_RESPONSE_BODY, %w", err)
			}
		}
	}
	return nil
}

// queryControls returns a query's controls by name, without the prefix, or nil if there are none. Other parameters may be malformed.
func queryControls(query string) (url.Values, error) {
	var given url.Values
	for pair := range strings.SplitSeq(query, "&") {
		escaped, value, _ := strings.Cut(pair, "=")
		name, nameErr := url.QueryUnescape(escaped)
		short, isControl := strings.CutPrefix(name, queryPrefix)
		if !isControl && !strings.HasPrefix(escaped, queryPrefix) {
			continue
		}
		value, valueErr := url.QueryUnescape(value)
		err := errors.Join(nameErr, valueErr)
		if strings.Contains(pair, ";") {
			err = errors.New("invalid semicolon")
		}
		if err != nil {
			return nil, fmt.Errorf("the query has controls but cannot be parsed (encode ; as %%3B and %% as %%25): %w", err)
		}
		if given == nil {
			given = url.Values{}
		}
		given.Add(short, value)
	}
	return given, nil
}
