package server

import (
	"errors"
	"net/http"
	"time"
)

// connectionFault is what happens to the connection instead of a whole response.
type connectionFault string

const (
	// connectionReset resets the connection before the response.
	connectionReset connectionFault = "reset"
	// connectionTruncate closes the connection after half of the response.
	connectionTruncate connectionFault = "truncate"
)

// fault is a deviation from the default response that applies to some requests.
type fault struct {
	percentage       int // 0 means all requests
	failures         int // to how many requests with the same key it applies; 0 means all
	status           int // 0 means that of the response
	delay, delayUpTo time.Duration
	delays           bool // whether the delay replaces that of the response
	connection       connectionFault
}

// requestedFault is the number of the fault that a request defines by its controls. Those of the settings start at 1.
const requestedFault = 0

// decide returns the controls that apply to a request. A request that controls status, delay or connection is exempt from the faults of
// the settings; all others get the first of these faults that applies.
func (h *handler) decide(r *http.Request, wanted controls) controls {
	if wanted.requests("status", "delay", "connection", "percentage", "failures") {
		if !h.applies(r, requestedFault, wanted.percentage, wanted.failures) {
			return h.chosen(h.response.plain(wanted.requested))
		}
		return h.chosen(wanted)
	}
	for i := range h.faults {
		if fault := &h.faults[i]; h.applies(r, i+1, fault.percentage, fault.failures) {
			wanted.apply(fault, i+1)
			break
		}
	}
	return h.chosen(wanted)
}

// applies decides by chance, and by the number of earlier requests with the same key, whether a fault applies to a request.
func (h *handler) applies(r *http.Request, number, percentage, failures int) bool {
	if percentage != 0 && h.random(100) >= int64(percentage) {
		return false
	}
	return failures == 0 || h.failed.next(h.failed.key(r, number, h.trustedProxies)) <= failures
}

// chosen returns the controls with a delay chosen from its range.
func (h *handler) chosen(wanted controls) controls {
	if wanted.delayUpTo > wanted.delay {
		wanted.delay += time.Duration(h.random(int64(wanted.delayUpTo-wanted.delay) + 1))
	}
	return wanted
}

// plain returns the defaults for a request whose controls do not apply. Caches must not store its response either.
func (c controls) plain(of requested) controls {
	c.headers = withoutCaching(c.headers)
	c.requested = of
	return c
}

func (c *controls) apply(f *fault, number int) {
	c.fault, c.connection = number, f.connection
	if f.status != 0 {
		c.status = f.status
	}
	if f.delays {
		c.delay, c.delayUpTo = f.delay, f.delayUpTo
	}
}

// checkRequestedFault completes the controls of a request that define a fault, and returns an error if they contradict each other.
func (c *controls) checkRequestedFault() error {
	if c.requests("status") && c.connection == connectionReset {
		return errors.New("connection reset sends no response: it excludes status")
	}
	if c.requests("failures") && !c.requests("status", "delay", "connection") {
		c.status = http.StatusServiceUnavailable
	}
	if c.requests("percentage") && len(c.requested.names) == 1 {
		return errors.New("percentage is the share of requests to which other controls apply, such as status=503: there are none")
	}
	return nil
}
