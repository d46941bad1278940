package pathcheck

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// echo is what an echo server tells of the request that it received.
type echo struct {
	Path, Host, Method, Proto string
	Headers                   http.Header
	Pod                       string
	TLS                       *struct{ Version, ServerName, CipherSuite string }
	Request                   struct {
		Time          time.Time
		HeaderNames   []string
		ContentLength int64
		Body          *struct {
			Size   int64
			SHA256 string
		}
		Trailers http.Header
	}
	Client struct{ RemoteAddress string }
}

// maxTexts is the largest number of names and values in the description of a request, several times that of any request that is sent: each takes
// much more memory than its bytes.
const maxTexts = 20_000

// parseEcho returns nil for a response that does not describe a request.
func parseEcho(contentType string, body []byte) *echo {
	if !strings.HasPrefix(contentType, "application/json") {
		return nil
	}
	if bytes.Count(body, []byte{'"'}) > 2*maxTexts {
		return nil
	}
	e := &echo{}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if decoder.Decode(e) != nil || e.Method == "" || e.Path == "" {
		return nil
	}
	return e
}

// peer returns the address that the connection of the echo server comes from, if it tells.
func (e *echo) peer() netip.Addr {
	address, err := netip.ParseAddrPort(e.Client.RemoteAddress)
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().Unmap()
}

// values returns the values of a header, whatever the case of its name.
func (e *echo) values(name string) []string { return e.Headers[http.CanonicalHeaderKey(name)] }

// has reports whether the echo server has received a header.
func (e *echo) has(name string) bool { return len(e.values(name)) > 0 }

// nameAsSent returns the name of a header as the echo server received it, which it tells only of HTTP/1.
func (e *echo) nameAsSent(name string) string {
	i := slices.IndexFunc(e.Request.HeaderNames, func(other string) bool { return strings.EqualFold(name, other) })
	if i < 0 {
		return ""
	}
	return e.Request.HeaderNames[i]
}
