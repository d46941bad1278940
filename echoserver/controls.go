package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// maxDelay is the longest delay of a response.
	maxDelay = 30 * time.Second
	// maxSize is the maximum size that a request can set, in bytes.
	maxSize = 16 << 20

	queryPrefix  = "echo."
	headerPrefix = "X-Echo-"
)

// controls change the response, which by default is the echo with status 200 and without delay.
type controls struct {
	status  int           // 0 means 200
	delay   time.Duration // 0 means none
	headers []header
	size    *int   // the size of the text that replaces the echo; nil means the echo
	format  format // empty means by the Accept header
	body    string // replaces the echo, unless it is empty; a request cannot set it
}

type header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// with returns the controls of a request, with c as the defaults. The query takes precedence over headers. Errors contain the name of
// the control and describe the valid values.
func (c controls) with(r *http.Request) (controls, error) {
	if err := c.fromHeaders(r.Header); err != nil {
		return c, err
	}
	if !strings.Contains(r.URL.RawQuery, "echo") && !strings.Contains(r.URL.RawQuery, "%") {
		return c, nil // nearly every request
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil && strings.Contains("&"+r.URL.RawQuery, "&"+queryPrefix) { // otherwise the query has no controls
		return c, fmt.Errorf("the query has controls but cannot be parsed (encode ; as %%3B and %% as %%25): %w", err)
	}
	return c, c.fromQuery(query)
}

func (c *controls) fromHeaders(headers http.Header) error {
	for name, values := range headers {
		short, ok := strings.CutPrefix(name, headerPrefix)
		if !ok {
			continue
		}
		short = strings.ToLower(short)
		if short == "set-header" {
			values = splitHeaders(values)
		}
		if err := c.set(short, values); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (c *controls) fromQuery(query url.Values) error {
	for name, values := range query {
		short, ok := strings.CutPrefix(name, queryPrefix)
		if !ok {
			continue
		}
		if err := c.set(short, values); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// set sets the named control.
func (c *controls) set(name string, values []string) error {
	if len(values) > 1 && name != "set-header" {
		return errors.New("specified more than once")
	}
	switch name {
	case "status":
		return parsedInto(&c.status, parseStatus)(values[0])
	case "delay":
		return parsedInto(&c.delay, parseDelay)(values[0])
	case "size":
		return parsedInto(&c.size, parseSize)(values[0])
	case "format":
		return parsedInto(&c.format, parseFormat)(values[0])
	case "set-header":
		return c.addHeaders(values)
	}
	return errors.New("unknown control: the controls are status, delay, set-header, size and format")
}

// addHeaders adds headers, which replace existing ones of the same names.
func (c *controls) addHeaders(values []string) error {
	added := make([]header, len(values))
	for i, text := range values {
		each, err := parseHeader(text)
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

func (c *controls) statusOrOK() int {
	if c.status == 0 {
		return http.StatusOK
	}
	return c.status
}

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

func parseStatus(text string) (int, error) {
	status, err := strconv.Atoi(text)
	if err != nil || status < 200 || status > 599 {
		return 0, fmt.Errorf("%q is not a whole number from 200 to 599", text)
	}
	return status, nil
}

func parseDelay(text string) (time.Duration, error) {
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 || delay > maxDelay {
		return 0, fmt.Errorf("%q is not a duration from 0s to %s, such as 500ms", text, maxDelay)
	}
	return delay, nil
}

func parseSize(text string) (*int, error) {
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 || size > maxSize {
		return nil, fmt.Errorf("%q is not a whole number of bytes from 0 to %d", text, maxSize)
	}
	return &size, nil
}

// parseDefaultHeaders parses the headers that are added to every response.
func parseDefaultHeaders(text string) ([]header, error) {
	var headers []header
	if err := json.Unmarshal([]byte(text), &headers); err != nil {
		return nil, fmt.Errorf(`not a list such as [{"name": "Retry-After", "value": "7"}]: %w`, err)
	}
	for _, each := range headers {
		if err := errors.Join(checkSyntax(each), checkFraming(each.Name)); err != nil {
			return nil, err
		}
	}
	return headers, nil
}
