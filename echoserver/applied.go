package main

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
	body      bool     // only in X-Echo-Applied, because the body is fixed
}

// applied returns the controls that are set, or nil if there are none.
func (c *controls) applied() *applied {
	if c.status == 0 && c.delay == 0 && c.headers == nil && c.size == nil && c.format == "" && c.body == "" {
		return nil
	}
	a := &applied{Status: c.status, Size: c.size, Format: c.format, body: c.body != ""}
	if c.delay > 0 {
		a.Delay = c.delay.Round(time.Millisecond).String()
	}
	for _, each := range c.headers {
		a.SetHeader = append(a.SetHeader, each.Name)
	}
	return a
}

// each calls yield with the name and value of each control.
func (a *applied) each(yield func(name, value string)) {
	if a.Status != 0 {
		yield("status", strconv.Itoa(a.Status))
	}
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
