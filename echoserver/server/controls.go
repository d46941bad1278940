package server

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	queryPrefix  = "echo."
	headerPrefix = "X-Echo-"

	// maxSetHeaders is how many headers a request can set.
	maxSetHeaders = 32
	// maxSetBytes is the maximum size of the names and values of these headers together.
	maxSetBytes = 8 << 10
)

// controls change the response, which by default is the echo with status 200 and without delay.
type controls struct {
	status     int           // 0 means 200
	delay      time.Duration // 0 means none
	delayUpTo  time.Duration // if it is longer than delay, the delay is between the two
	headers    []header
	size       *int            // the size of the text that replaces the echo; nil means the echo
	format     format          // empty means by the Accept header
	body       string          // replaces the echo, unless it is empty; a request cannot set it
	connection connectionFault // empty means that the response is sent
	percentage int             // the share of the requests to which the controls apply; 0 means all
	earlyHints bool            // whether a response with status 103 comes first
	failures   int             // to how many requests with the same key the controls apply; 0 means all
	fault      int             // the number of the configured fault that applies, starting at 1; 0 means none
	requested  requested
}

// requested describes the controls of a request, as opposed to the defaults.
type requested struct {
	names      []string // without prefix; those in headers come first
	setHeaders int
	setBytes   int
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// with returns the controls of a request, with c as the defaults. The query takes precedence over headers. Errors contain the name of
// the control and describe the valid values.
func (c controls) with(r *http.Request, policy controlsPolicy) (controls, error) {
	if policy == controlsOff {
		return c, nil
	}
	if err := c.fromHeaders(r.Header, policy); err != nil {
		return c, err
	}
	if err := c.fromQuery(r.URL.RawQuery, policy); err != nil {
		return c, err
	}
	return c, c.checkRequestedFault()
}

func (c *controls) fromHeaders(headers http.Header, policy controlsPolicy) error {
	for name, values := range headers {
		short, ok := strings.CutPrefix(name, headerPrefix)
		if !ok {
			continue
		}
		short = strings.ToLower(short)
		if short == "set-header" {
			values = splitHeaders(values)
		}
		if err := c.set(short, values, policy); err != nil {
			return fmt.Errorf("%.100s: %w", name, err)
		}
	}
	return nil
}

func (c *controls) fromQuery(query string, policy controlsPolicy) error {
	given, err := controlsIn(query)
	if err != nil {
		return err
	}
	for name, values := range given {
		if err := c.set(name, values, policy); err != nil {
			return fmt.Errorf("%s%.100s: %w", queryPrefix, name, err)
		}
	}
	return nil
}

// set sets the named control to a value from a request.
func (c *controls) set(name string, values []string, policy controlsPolicy) error {
	if len(values) > 1 && name != "set-header" {
		return errors.New("specified more than once")
	}
	c.request(name)
	switch name {
	case "status":
		return parsedInto(&c.status, policy.parseStatus)(values[0])
	case "delay":
		return c.setDelay(values[0])
	case "size":
		return parsedInto(&c.size, parseSize)(values[0])
	case "format":
		return parsedInto(&c.format, oneOf("is not json, text or html", formatJSON, formatText, formatHTML))(values[0])
	case "percentage":
		return parsedInto(&c.percentage, parsePercentage)(values[0])
	case "failures":
		return parsedInto(&c.failures, parseFailures)(values[0])
	case "early-hints":
		return parsedInto(&c.earlyHints, policy.parseEarlyHints)(values[0])
	case "connection":
		return parsedInto(&c.connection, policy.parseConnection)(values[0])
	case "set-header":
		return c.addHeaders(values, policy)
	}
	return errors.New(
		"unknown control: the controls are status, delay, set-header, size, format, percentage, failures, early-hints and connection")
}

// request records that the request has a control. The first one removes the default headers by which caches would store the response
// and send it to others.
func (c *controls) request(name string) {
	if len(c.requested.names) == 0 {
		c.headers = withoutCaching(c.headers)
	}
	c.requested.names = append(c.requested.names, name)
}

// requests reports whether the request has one of the named controls.
func (c *controls) requests(names ...string) bool {
	return slices.ContainsFunc(c.requested.names, func(name string) bool { return slices.Contains(names, name) })
}

// addHeaders adds headers, which replace existing ones of the same names.
func (c *controls) addHeaders(values []string, policy controlsPolicy) error {
	c.requested.setHeaders += len(values)
	for _, text := range values {
		c.requested.setBytes += len(text)
	}
	if c.requested.setHeaders > maxSetHeaders || c.requested.setBytes > maxSetBytes {
		return fmt.Errorf("a request can set up to %d headers of together %d bytes", maxSetHeaders, maxSetBytes)
	}
	added := make([]header, len(values))
	for i, text := range values {
		each, err := parseHeader(text, policy)
		if err != nil {
			return err
		}
		added[i] = each
	}
	replaced := func(old header) bool {
		return slices.ContainsFunc(added, func(each header) bool { return strings.EqualFold(each.Name, old.Name) })
	}
	c.headers = append(slices.DeleteFunc(slices.Clone(c.headers), replaced), added...)
	return nil
}

func (c *controls) statusOrOK() int { return cmp.Or(c.status, http.StatusOK) }

// consistent returns an error if the defaults contradict each other. Only a fixed body may have any Content-Type, because the echo
// contains what clients send.
func (c *controls) consistent() error {
	for _, each := range c.headers {
		if c.body == "" && strings.EqualFold(each.Name, "Content-Type") {
			if err := checkMediaType(each.Value); err != nil {
				return fmt.Errorf("ECHO_RESPONSE_HEADERS: without ECHO_RESPONSE_BODY, %w", err)
			}
		}
	}
	return nil
}
