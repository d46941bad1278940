package controls

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// ConnectionFault is a connection failure that a client gets instead of a complete response.
type ConnectionFault string

const (
	// ConnectionReset resets the connection before the server sends the response.
	ConnectionReset ConnectionFault = "reset"
	// ConnectionTruncate closes the connection after the server has sent half of the response.
	ConnectionTruncate ConnectionFault = "truncate"
)

// Fault changes the default response to some requests, as specified in the settings.
type Fault struct {
	Percentage           *int    `json:"percentage"` // nil means all requests
	Failures             *int    `json:"failures"`   // the fault applies to this many requests with the same key; nil means all
	StatusCode           *int    `json:"statusCode"`
	DelayMilliseconds    *int    `json:"delayMilliseconds"` // unless both delays are nil, they replace the response's delay
	MaxDelayMilliseconds *int    `json:"maxDelayMilliseconds"`
	Connection           *string `json:"connection"`
}

// Chooser determines the controls that apply to each request.
type Chooser struct {
	policy   Policy
	defaults Controls
	general  []Header // for all responses except echoes
	vary     []string // the value of the Vary header, which all responses share
	faults   []Fault
	client   func(*http.Request) string // returns the client's address, or "" if it is not known
	Random   func(n int64) int64        // returns a number from 0 to n-1
	failed   *Counts
}

// NewChooser returns a Chooser for requests that may have controls, for the default controls, and for the faults in the settings.
func NewChooser(policy Policy, defaults Controls, faults []Fault, client func(*http.Request) string) *Chooser {
	return &Chooser{policy: policy, defaults: defaults, general: unprotected(defaults.Headers),
		vary: []string{policy.Vary()}, faults: faults, client: client, Random: rand.Int64N, failed: NewCounts()}
}

// Begin applies the controls for responses that a request does not control, such as errors, after a delay.
func (c *Chooser) Begin(e *exchange.Exchange, delay time.Duration) {
	c.Apply(e, &Controls{Headers: c.general, Delay: delay})
}

// Apply sets the headers that controls specify, and makes the response report the controls. The headers replace the server's headers of the
// same name, except that they extend Vary, because the response still depends on the headers that the server lists there. Vary is one line,
// because nginx before 1.23 obeys only the last line.
func (c *Chooser) Apply(e *exchange.Exchange, desired *Controls) {
	e.Applied = desired.Applied()
	header := e.Header()
	header["Vary"] = c.vary
	isVary := func(h Header) bool { return strings.EqualFold(h.Name, "Vary") }
	for _, each := range desired.Headers {
		if !isVary(each) {
			header.Del(each.Name)
		}
	}
	for _, each := range desired.Headers {
		if isVary(each) {
			header.Set(each.Name, header.Get(each.Name)+","+each.Value)
		} else {
			header.Add(each.Name, each.Value)
		}
	}
}

// For returns the controls that apply to a request, or an error if the request's controls are not valid. A request that sets a control
// such as status, delay, or connection is exempt from the faults in the settings. All other requests get the first fault that applies.
func (c *Chooser) For(r *http.Request, target Target) (Controls, error) {
	defaults := c.defaults
	if target != Echo {
		defaults = Controls{Headers: c.general}
	}
	if target == Call {
		defaults.Delay = c.defaults.Delay
	}
	desired, err := defaults.with(r, c.policy, target)
	switch {
	case err != nil:
		return desired, err
	case target == Echo:
		c.inject(&desired, r)
	default:
		desired.Headers = unprotected(desired.Headers)
	}
	if desired.delayUpTo > desired.Delay { // the delay is a range
		desired.Delay += time.Duration(c.Random(int64(desired.delayUpTo-desired.Delay) + 1))
	}
	return desired, nil
}

func (c *Chooser) inject(desired *Controls, r *http.Request) {
	if desired.requests("status", "delay", "connection", "percentage", "failures") {
		if !c.applies(r, 0, desired.percentage, desired.failures) {
			*desired = c.defaults
			desired.Headers = withoutCaching(desired.Headers) // caches must not store the response to this request either
		}
		return
	}
	for i := range c.faults {
		if fault := &c.faults[i]; c.applies(r, i+1, valueOf(fault.Percentage), valueOf(fault.Failures)) {
			desired.apply(fault, i+1)
			return
		}
	}
}

// applies determines whether a fault applies to a request, based on chance and on the number of earlier requests with the same key. The
// fault that a request's controls define has the number 0, and the faults in the settings are numbered from 1.
func (c *Chooser) applies(r *http.Request, number, percentage, failures int) bool {
	if percentage != 0 && c.Random(100) >= int64(percentage) {
		return false
	}
	return failures == 0 || c.failed.Next(c.failed.key(r, number, c.client)) <= failures
}

func (c *Controls) apply(f *Fault, number int) {
	c.fault, c.Connection = number, ConnectionFault(strings.ToLower(valueOf(f.Connection)))
	c.Status = cmp.Or(valueOf(f.StatusCode), c.Status)
	if f.DelayMilliseconds != nil || f.MaxDelayMilliseconds != nil {
		c.Delay, c.delayUpTo = milliseconds(f.DelayMilliseconds), milliseconds(f.MaxDelayMilliseconds)
	}
}

const (
	// maxKeys is the maximum number of keys that Counts remembers.
	maxKeys = 1024
	// countMemory is how long Counts remembers a key after its first request.
	countMemory = 5 * time.Minute
)

// Counts counts requests by key. If there are too many keys, it forgets the least recently used one.
type Counts struct {
	seed maphash.Seed

	mutex  sync.Mutex
	counts *exchange.Recent[count]
}

type count struct {
	began time.Time
	count int
}

// NewCounts returns empty counts.
func NewCounts() *Counts {
	return &Counts{seed: maphash.MakeSeed(), counts: exchange.NewRecent[count](maxKeys)}
}

// key returns the same key for a request and its retries. The key depends on the X-Request-Id header, which proxies preserve when they
// retry. Without that header, it depends on the method, host, path, query, and client. The key is a hash, because a query can be long.
// number identifies the fault.
func (c *Counts) key(r *http.Request, number int, client func(*http.Request) string) uint64 {
	parts := []string{exchange.SentRequestID(r.Header)}
	if parts[0] == "" {
		parts = []string{r.Method, r.Host, r.RequestURI, client(r)}
	}
	return maphash.String(c.seed, strings.Join(append(parts, strconv.Itoa(number)), "\x00"))
}

// Next counts a request and returns the number of requests with the same key, including this request.
func (c *Counts) Next(key uint64) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now, seen := time.Now(), c.counts.At(key)
	if now.Sub(seen.began) >= countMemory { // also for a new key
		*seen = count{began: now}
	}
	seen.count++
	return seen.count
}

// maxFaults is the maximum number of faults in the settings.
const maxFaults = 8

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
		if err := decodeStrictly(element, &faults[i]); err != nil {
			return nil, fmt.Errorf("faults[%d]: %w", i, err)
		}
		if err := faults[i].check(); err != nil {
			return nil, fmt.Errorf("faults[%d]%w", i, err)
		}
	}
	return faults, nil
}

// check returns an error if the fault is not valid. It begins with the rest of the field's path, followed by a colon.
func (f *Fault) check() error {
	if f.StatusCode == nil && f.DelayMilliseconds == nil && f.MaxDelayMilliseconds == nil && f.Connection == nil {
		return errors.New(": requires statusCode, delayMilliseconds, maxDelayMilliseconds, or connection")
	}
	longest := int(MaxDelay / time.Millisecond)
	if err := cmp.Or(
		checkRange("percentage", f.Percentage, 1, 100),
		checkRange("statusCode", f.StatusCode, 200, 599),
		checkRange("delayMilliseconds", f.DelayMilliseconds, 0, longest),
		checkRange("maxDelayMilliseconds", f.MaxDelayMilliseconds, 0, longest),
		checkRange("failures", f.Failures, 1, maxFailures),
	); err != nil {
		return err
	}
	switch connection := valueOf(f.Connection); {
	case f.Connection != nil && connection != "Reset" && connection != "Truncate":
		return fmt.Errorf(".connection: %q is neither Reset nor Truncate", connection)
	case connection == "Reset" && f.StatusCode != nil:
		return errors.New(".statusCode: connection Reset sends no response")
	case f.MaxDelayMilliseconds != nil && *f.MaxDelayMilliseconds < valueOf(f.DelayMilliseconds):
		return errors.New(".maxDelayMilliseconds: less than delayMilliseconds")
	}
	return nil
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
