package watch

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// connection reports requests that get no answer. client-go tries them again by itself, some of them for half a minute
// before it says so, and some without ever saying so.
type connection struct {
	next   http.RoundTripper
	report func(error)

	lock sync.Mutex
	told map[string]bool // what was reported since the last answer
}

// RoundTrip implements http.RoundTripper. The same error is reported once, until there is an answer again.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	c.lock.Lock()
	defer c.lock.Unlock()
	if err == nil {
		c.told = map[string]bool{}
	} else if why := reason(err); request.Context().Err() == nil && !c.told[why] {
		c.told[why] = true
		c.report(errors.New("no answer from the API server, trying on: " + why))
	}
	return response, err
}

// reason is an error without the port on this side, which is another for each connection.
func reason(err error) string {
	if broken := new(net.OpError); errors.As(err, &broken) && broken.Op != "dial" {
		return fmt.Sprintf("%s: %v", broken.Op, broken.Err)
	}
	return err.Error()
}

// newConnection reports what next fails to get.
func newConnection(next http.RoundTripper, report func(error)) *connection {
	return &connection{next: next, report: report, told: map[string]bool{}}
}

// unanswered says whether an error comes from a request that got no answer.
func unanswered(err error) bool { return errors.As(err, new(*url.Error)) }
