package controls

import (
	"net/http"
	"net/url"
)

// handshake is the name of the only control that applies to a WebSocket.
const handshake = "handshake"

// ForHandshake returns the controls that apply to a WebSocket handshake. It returns an error if the request's handshake control is not
// valid, and ignores all other controls.
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
