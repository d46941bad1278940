package controls

import (
	"net/http"
	"net/url"
)

// handshake is the name of the only control that applies to a WebSocket.
const handshake = "handshake"

// ForHandshake returns the controls that apply to a WebSocket handshake. If the request's handshake control is not valid, it returns an
// error with the reason. The other controls have no meaning in a handshake, and are ignored.
func (c *Chooser) ForHandshake(r *http.Request) (Controls, error) {
	if c.policy == None {
		return Controls{}, nil
	}
	query, err := queryControls(r.URL.RawQuery)
	name := http.CanonicalHeaderKey(headerPrefix + handshake)
	headers, parameters := http.Header{}, url.Values{}
	if values, ok := r.Header[name]; ok {
		headers[name] = values
	}
	if values, ok := query[handshake]; ok {
		parameters[handshake] = values
	}
	return Controls{}.requestedBy(headers, parameters, err, c.policy)
}
