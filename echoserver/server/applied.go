package server

import (
	"strconv"
	"strings"
	"time"
)

// applied lists the controls that changed a response, so that users can tell it from a response of a gateway.
type applied struct {
	Status    int      `json:"status,omitempty"`
	Delay     string   `json:"delay,omitempty"`
	SetHeader []string `json:"setHeader,omitempty"` // the names
	Size      *int     `json:"size,omitempty"`
	Format    format   `json:"format,omitempty"`
	// The share of the requests that get this response, how many with the same key do, and how it ends.
	Percentage int             `json:"percentage,omitempty"`
	Failures   int             `json:"failures,omitempty"`
	EarlyHints bool            `json:"earlyHints,omitempty"`
	Connection connectionFault `json:"connection,omitempty"`
	Fault      *int            `json:"fault,omitempty"` // the index of the fault in the settings
	body       bool            // only in X-Echo-Applied, because the body is fixed
}

// applied returns the controls that are set, or nil if there are none.
func (c *controls) applied() *applied {
	if c.changeNothing() {
		return nil
	}
	a := &applied{Status: c.status, Size: c.size, Format: c.format, Percentage: c.percentage, Failures: c.failures, EarlyHints: c.earlyHints,
		Connection: c.connection, body: c.body != ""}
	if c.fault > 0 {
		a.Fault = new(c.fault - 1)
	}
	if c.delay > 0 {
		a.Delay = c.delay.Round(time.Millisecond).String()
	}
	for _, each := range c.headers {
		a.SetHeader = append(a.SetHeader, each.Name)
	}
	return a
}

func (c *controls) changeNothing() bool {
	isFault := c.percentage > 0 || c.failures > 0 || c.connection != "" || c.fault > 0
	return c.status == 0 && c.delay == 0 && len(c.headers) == 0 && c.size == nil && c.format == "" && c.body == "" && !isFault && !c.earlyHints
}

// each calls yield with the name and value of each control.
func (a *applied) each(yield func(name, value string)) {
	number := func(name string, value int) {
		if value != 0 {
			yield(name, strconv.Itoa(value))
		}
	}
	number("status", a.Status)
	if a.Delay != "" {
		yield("delay", a.Delay)
	}
	for _, name := range a.SetHeader {
		yield("set-header", name)
	}
	if a.Size != nil {
		yield("size", strconv.Itoa(*a.Size))
	}
	if a.Format != "" {
		yield("format", string(a.Format))
	}
	number("percentage", a.Percentage)
	number("failures", a.Failures)
	if a.EarlyHints {
		yield("early-hints", "true")
	}
	if a.Connection != "" {
		yield("connection", string(a.Connection))
	}
	if a.Fault != nil {
		yield("fault", strconv.Itoa(*a.Fault))
	}
	if a.body {
		yield("body", "fixed")
	}
}

// String returns the value of X-Echo-Applied, such as "status=503, delay=2s".
func (a *applied) String() string {
	var parts []string
	a.each(func(name, value string) { parts = append(parts, name+"="+value) })
	return strings.Join(parts, ", ")
}
