package controls

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

type control struct {
	name string
	// set sets the control to the request's values if the policy allows them. It is nil if a request cannot set the control.
	set func(c *Controls, values []string, policy Policy) error
	// value returns what to report (a number, string, true, or list of strings), or nil if the control did not change the response.
	value func(c Controls) any
	// repeats reports whether a request can specify the control more than once, or as a list in one header.
	repeats bool
	// isHidden reports whether the description of a request omits the control.
	isHidden bool
	targets  Target // the requests to which the control applies
	// varies reports whether Vary names the control's header. To stay short, Vary omits percentage and early-hints, which alone do not change
	// the final response. nginx does not cache a response whose Vary is longer than 128 bytes.
	varies bool
}

// table returns all controls, in the order in which X-Echo-Applied and the description of a request list them. A new control needs a row
// here and a field in Controls.
func table() [13]control {
	return [...]control{
		{name: "grpc-status", set: func(c *Controls, values []string, _ Policy) (err error) {
			c.GRPCStatus, err = ParseWhole(values[0], 0, 16)
			return err
		}, value: func(c Controls) any { return orNil(c.GRPCStatus) }, targets: Call},
		{name: "status", set: func(c *Controls, values []string, policy Policy) error {
			return Into(&c.Status, policy.parseStatus)(values[0])
		}, value: func(c Controls) any { return orNil(c.Status) }, targets: Echo | Stream | WebSocket, varies: true},
		{name: "delay", set: (*Controls).setDelay, value: func(c Controls) any {
			if c.Delay == 0 {
				return nil
			}
			return c.Delay.Round(time.Millisecond).String()
		}, targets: Echo | Stream | WebSocket | Call, varies: true},
		{name: "set-header", set: (*Controls).addHeaders, value: func(c Controls) any {
			var names []string
			for _, each := range c.Headers {
				names = append(names, each.Name)
			}
			if names == nil {
				return nil
			}
			return names
		}, targets: Echo | Stream | WebSocket | Call | Other, repeats: true, varies: true},
		{name: "size", set: func(c *Controls, values []string, _ Policy) error {
			size, err := ParseWhole(values[0], 0, MaxSize)
			c.Size = &size
			return err
		}, value: func(c Controls) any {
			if c.Size == nil {
				return nil
			}
			return *c.Size
		}, targets: Echo, varies: true},
		{name: "format", set: func(c *Controls, values []string, _ Policy) error {
			return Into(&c.Format, OneOf("is not json, text, or html", JSON, Text, HTML))(values[0])
		}, value: func(c Controls) any { return orNil(c.Format) }, targets: Echo, varies: true},
		{name: "percentage", set: func(c *Controls, values []string, _ Policy) (err error) {
			c.percentage, err = ParseWhole(values[0], 1, 100)
			return err
		}, value: func(c Controls) any { return orNil(c.percentage) }, targets: Echo},
		{name: "failures", set: func(c *Controls, values []string, _ Policy) (err error) {
			c.failures, err = ParseWhole(values[0], 1, maxFailures)
			return err
		}, value: func(c Controls) any { return orNil(c.failures) }, targets: Echo, varies: true},
		// A proxy that does not know status 103 may respond to the next request, even from another client, with the final response.
		{name: "early-hints", set: func(c *Controls, values []string, policy Policy) error {
			return cmp.Or(policy.mustBeFull("a request cannot cause a response with status 103, which some proxies do not understand"),
				Into(&c.EarlyHints, ParseBoolean)(values[0]))
		}, value: func(c Controls) any { return orNil(c.EarlyHints) }, targets: Echo},
		// Gateways stop using a server whose connections break, so one request could cut off other clients.
		{name: "connection", set: func(c *Controls, values []string, policy Policy) error {
			return cmp.Or(
				policy.mustBeFull("a request cannot break the connection, because gateways stop using a server that breaks connections"),
				Into(&c.Connection, OneOf("is neither reset nor truncate", ConnectionReset, ConnectionTruncate))(values[0]))
		}, value: func(c Controls) any { return orNil(c.Connection) }, targets: Echo, varies: true},
		{name: "handshake", set: func(c *Controls, values []string, _ Policy) error {
			return Into(&c.Handshake, ParseBoolean)(values[0])
		}, value: func(c Controls) any { return orNil(c.Handshake) }, targets: WebSocket},
		{name: "fault", value: func(c Controls) any {
			if c.fault == 0 {
				return nil
			}
			return c.fault - 1
		}},
		{name: "body", value: func(c Controls) any {
			if c.Body == "" {
				return nil
			}
			return "fixed"
		}, isHidden: true},
	}
}

// Target is what a request asks for, which determines the controls that apply. Several targets can be combined.
type Target int

const (
	Echo      Target = 1 << iota
	Stream           // the body, or events
	WebSocket        // or the page that opens one
	Call
	Other // such as probes
)

// rowOf returns a control's row, or an empty row if there is no such control.
func rowOf(name string) control {
	for _, row := range table() {
		if row.name == name {
			return row
		}
	}
	return control{}
}

// requestable lists the controls that an HTTP request can set. Messages contain the list.
func requestable() string {
	var names []string
	for _, row := range table() {
		if row.set != nil && row.targets != Call {
			names = append(names, row.name)
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + ", and " + names[last]
}

// Names returns the names of all controls.
func Names() []string {
	var names []string
	for _, row := range table() {
		names = append(names, row.name)
	}
	return names
}

// Vary returns the value of Vary: the request headers on which a response depends. It contains no spaces, to stay short.
func (p Policy) Vary() string {
	names := []string{"Accept"}
	for _, row := range table() {
		if row.varies && p != None {
			names = append(names, http.CanonicalHeaderKey(headerPrefix+row.name))
		}
	}
	return strings.Join(names, ",")
}

// orNil returns a value, or nil if it is the zero value.
func orNil[T comparable](value T) any {
	if value == *new(T) {
		return nil
	}
	return value
}

// Applied returns the controls that are set.
func (c Controls) Applied() exchange.Applied {
	var a exchange.Applied
	for _, row := range table() {
		if value := row.value(c); value != nil {
			a = append(a, exchange.AppliedControl{Name: row.name, Value: value, IsHidden: row.isHidden})
		}
	}
	return a
}
