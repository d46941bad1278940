package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Description is an echo server's description of the request that it received.
type Description struct {
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

// maxTexts is the maximum number of names and values in a description. Requests from pathcheck contain far fewer. The limit exists because
// each name or value uses much more memory than its length in bytes.
const maxTexts = 20_000

// ParseDescription parses a description. It returns nil if the body does not describe a request.
func ParseDescription(body []byte) *Description {
	if bytes.Count(body, []byte{'"'}) > 2*maxTexts {
		return nil
	}
	e := &Description{}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if decoder.Decode(e) != nil || e.Method == "" || e.Path == "" {
		return nil
	}
	return e
}

// Peer returns the remote address of the echo server's connection, if known.
func (e *Description) Peer() netip.Addr {
	address, err := netip.ParseAddrPort(e.Client.RemoteAddress)
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr().Unmap()
}

// PathOnly returns the path without the query, to which a proxy may have added parameters.
func (e *Description) PathOnly() string {
	path, _, _ := strings.Cut(e.Path, "?")
	return path
}

// Values returns a header's values. The case of the name does not matter.
func (e *Description) Values(name string) []string { return e.Headers[http.CanonicalHeaderKey(name)] }

// Has reports whether the echo server has received a header.
func (e *Description) Has(name string) bool { return len(e.Values(name)) > 0 }

// NameAsSent returns a header's name exactly as the echo server received it. The exact name is known only for HTTP/1.
func (e *Description) NameAsSent(name string) string {
	i := slices.IndexFunc(e.Request.HeaderNames, func(other string) bool { return strings.EqualFold(name, other) })
	if i < 0 {
		return ""
	}
	return e.Request.HeaderNames[i]
}
