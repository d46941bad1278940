package controls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// maxFaults is the maximum number of faults in the settings.
const maxFaults = 8

// faultSetting is a fault as specified in the settings.
type faultSetting struct {
	Percentage           *int    `json:"percentage"`
	StatusCode           *int    `json:"statusCode"`
	DelayMilliseconds    *int    `json:"delayMilliseconds"`
	MaxDelayMilliseconds *int    `json:"maxDelayMilliseconds"`
	Connection           *string `json:"connection"`
	Failures             *int    `json:"failures"`
}

// ParseFaults parses the list of faults. Errors begin with the path of the field, such as faults[0].percentage.
func ParseFaults(text string) ([]Fault, error) {
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf(`not a list such as [{"percentage": 30, "statusCode": 503}]: %w`, err)
	}
	if len(list) > maxFaults {
		return nil, fmt.Errorf("there are %d faults, but at most %d are allowed", len(list), maxFaults)
	}
	faults := make([]Fault, len(list))
	for i, element := range list {
		parsed, err := parseFault(element)
		if err != nil {
			return nil, fmt.Errorf("faults[%d]%w", i, err)
		}
		faults[i] = parsed
	}
	return faults, nil
}

// parseFault parses a fault. Errors begin with the rest of the field's path, followed by a colon.
func parseFault(data []byte) (Fault, error) {
	var s faultSetting
	if err := decodeStrictly(data, &s); err != nil {
		return Fault{}, fmt.Errorf(": %w", err)
	}
	return s.fault()
}

// decodeStrictly decodes JSON. It rejects unknown fields, and data after the JSON value.
func decodeStrictly(data []byte, target any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is unexpected data after the list")
	}
	return nil
}

func (s *faultSetting) fault() (Fault, error) {
	if s.StatusCode == nil && s.DelayMilliseconds == nil && s.MaxDelayMilliseconds == nil && s.Connection == nil {
		return Fault{}, errors.New(": requires statusCode, delayMilliseconds, maxDelayMilliseconds, or connection")
	}
	longest := int(MaxDelay / time.Millisecond)
	for _, err := range []error{
		checkRange("percentage", s.Percentage, 1, 100),
		checkRange("statusCode", s.StatusCode, 200, 599),
		checkRange("delayMilliseconds", s.DelayMilliseconds, 0, longest),
		checkRange("maxDelayMilliseconds", s.MaxDelayMilliseconds, 0, longest),
		checkRange("failures", s.Failures, 1, maxFailures),
		s.checkConnection(),
	} {
		if err != nil {
			return Fault{}, err
		}
	}
	f := Fault{percentage: valueOf(s.Percentage), failures: valueOf(s.Failures), status: valueOf(s.StatusCode),
		delay: milliseconds(s.DelayMilliseconds), delayUpTo: milliseconds(s.MaxDelayMilliseconds),
		delays: s.DelayMilliseconds != nil || s.MaxDelayMilliseconds != nil, connection: s.connection()}
	if s.MaxDelayMilliseconds != nil && f.delayUpTo < f.delay {
		return f, errors.New(".maxDelayMilliseconds: less than delayMilliseconds")
	}
	return f, nil
}

func (s *faultSetting) checkConnection() error {
	switch {
	case s.Connection == nil, *s.Connection == "Truncate":
		return nil
	case *s.Connection != "Reset":
		return fmt.Errorf(".connection: %q is neither Reset nor Truncate", *s.Connection)
	case s.StatusCode != nil:
		return errors.New(".statusCode: connection Reset sends no response")
	}
	return nil
}

func (s *faultSetting) connection() ConnectionFault {
	switch valueOf(s.Connection) {
	case "Reset":
		return ConnectionReset
	case "Truncate":
		return ConnectionTruncate
	}
	return ""
}

func checkRange(name string, value *int, least, most int) error {
	if value != nil && (*value < least || *value > most) {
		return fmt.Errorf(".%s: %d is not from %d to %d", name, *value, least, most)
	}
	return nil
}

func milliseconds(value *int) time.Duration { return time.Duration(valueOf(value)) * time.Millisecond }

// valueOf returns the value of a field, or zero if the field is absent.
func valueOf[T any](field *T) T {
	if field == nil {
		return *new(T)
	}
	return *field
}
