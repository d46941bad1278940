package controls

import (
	"net/http"
	"net/url"
)

// handshake is the name of the only control that applies to WebSockets.
const handshake = "handshake"

// ForHandshake returns the controls that apply to the handshake of a WebSocket. Its error is why the control that the request has is not
// valid. The other controls have no meaning there, and are ignored.
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
