package controls

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// ConnectionFault is a connection failure that a client gets instead of a complete response.
type ConnectionFault string

const (
	// ConnectionReset resets the connection before the server sends the response.
	ConnectionReset ConnectionFault = "reset"
	// ConnectionTruncate closes the connection after the server has sent half of the response.
	ConnectionTruncate ConnectionFault = "truncate"
)

// Fault changes the default response to some requests.
type Fault struct {
	percentage       int // 0 means all requests
	failures         int // the fault applies to this many requests with the same key; 0 means all
	status           int // 0 means that the fault does not change the status
	delay, delayUpTo time.Duration
	delays           bool // whether delay and delayUpTo replace the response's delay
	connection       ConnectionFault
}

// requestedFault is the number of the fault that a request's controls define. The faults in the settings are numbered from 1.
const requestedFault = 0

// Chooser determines the controls that apply to each request.
type Chooser struct {
	policy   Policy
	defaults Controls
	faults   []Fault
	client   func(*http.Request) string // returns the client's address, or "" if it is not known
	Random   func(n int64) int64        // returns a number from 0 to n-1
	failed   *Counts
}

func NewChooser(policy Policy, defaults Controls, faults []Fault, client func(*http.Request) string) *Chooser {
	return &Chooser{policy: policy, defaults: defaults, faults: faults, client: client, Random: rand.Int64N, failed: NewCounts()}
}

// For returns the controls that apply to a request, or an error if the request's controls are not valid.
func (c *Chooser) For(r *http.Request) (Controls, error) {
	desired, err := c.defaults.with(r, c.policy)
	if err != nil {
		return desired, err
	}
	if desired.Handshake {
		return desired, errors.New("handshake: applies only to a WebSocket, at a path that ends in /-/ws")
	}
	return c.decide(r, desired), nil
}

// decide returns the controls that apply to a request. A request that sets a control such as status, delay, or connection is exempt from
// the faults in the settings. All other requests get the first fault that applies.
func (c *Chooser) decide(r *http.Request, desired Controls) Controls {
	if desired.requests("status", "delay", "connection", "percentage", "failures") {
		if !c.applies(r, requestedFault, desired.percentage, desired.failures) {
			return c.chosen(c.defaults.plain(desired.requested))
		}
		return c.chosen(desired)
	}
	for i := range c.faults {
		if fault := &c.faults[i]; c.applies(r, i+1, fault.percentage, fault.failures) {
			desired.apply(fault, i+1)
			break
		}
	}
	return c.chosen(desired)
}

// applies determines whether a fault applies to a request, based on chance and on the number of earlier requests with the same key.
func (c *Chooser) applies(r *http.Request, number, percentage, failures int) bool {
	if percentage != 0 && c.Random(100) >= int64(percentage) {
		return false
	}
	return failures == 0 || c.failed.Next(c.failed.key(r, number, c.client)) <= failures
}

// chosen replaces a delay range with a random delay in that range.
func (c *Chooser) chosen(desired Controls) Controls {
	if desired.delayUpTo > desired.Delay {
		desired.Delay += time.Duration(c.Random(int64(desired.delayUpTo-desired.Delay) + 1))
	}
	return desired
}

// plain returns the defaults for a request whose controls do not apply. Caches must not store the response to this request either.
func (c Controls) plain(of requested) Controls {
	c.Headers = withoutCaching(c.Headers)
	c.requested = of
	return c
}

func (c *Controls) apply(f *Fault, number int) {
	c.fault, c.Connection = number, f.connection
	if f.status != 0 {
		c.Status = f.status
	}
	if f.delays {
		c.Delay, c.delayUpTo = f.delay, f.delayUpTo
	}
}

// checkRequestedFault completes the controls with which a request defines a fault. It returns an error if they contradict each other.
func (c *Controls) checkRequestedFault() error {
	if c.requests("status") && c.Connection == ConnectionReset {
		return errors.New("connection reset sends no response, so it cannot be combined with status")
	}
	if c.requests("failures") && !c.requests("status", "delay", "connection") {
		c.Status = http.StatusServiceUnavailable
	}
	if c.requests("percentage") && len(c.requested.names) == 1 {
		return errors.New("percentage requires another control, such as status=503, which then applies to this share of requests")
	}
	return nil
}
