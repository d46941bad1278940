package watch

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// connection reports requests that get no response. client-go retries such requests, and reports them late or not at all.
type connection struct {
	next   http.RoundTripper
	report func(error)

	lock     sync.Mutex
	reported map[string]bool // the errors reported since the last response
}

// RoundTrip implements http.RoundTripper. It does not report the same error again until a request gets a response.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	c.lock.Lock()
	defer c.lock.Unlock()
	if err == nil {
		c.reported = map[string]bool{}
	} else if why := reason(err); request.Context().Err() == nil && !c.reported[why] {
		c.reported[why] = true
		c.report(errors.New("no response from the API server, retrying: " + why))
	}
	return response, err
}

// reason returns the text of an error without the local port, which differs for each connection.
func reason(err error) string {
	if broken := new(net.OpError); errors.As(err, &broken) && broken.Op != "dial" {
		return fmt.Sprintf("%s: %v", broken.Op, broken.Err)
	}
	return err.Error()
}

func newConnection(next http.RoundTripper, report func(error)) *connection {
	return &connection{next: next, report: report, reported: map[string]bool{}}
}

func gotNoResponse(err error) bool { return errors.As(err, new(*url.Error)) }
