package rejections

import (
	"bytes"
	"slices"
)

// These constants are the reasons for rejecting a connection or a request before a handler is called. If net/http responds, the reason is
// the status code.
const (
	ReasonProxyProtocol   = "proxy_protocol"    // the connection begins with a PROXY protocol header
	ReasonTLS             = "tls"               // a TLS handshake on a port without TLS
	ReasonNoTLS           = "no_tls"            // plain HTTP on the TLS port
	ReasonHandshake       = "tls_handshake"     // the handshake failed
	ReasonIncomplete      = "incomplete_header" // the header did not arrive in time
	ReasonHTTP2Connect    = "http2_connect"     // an invalid CONNECT request, or a WebSocket request (RFC 8441)
	ReasonHTTP2Stream     = "http2_stream"      // the stream was reset
	ReasonHTTP2Connection = "http2_connection"  // the connection was closed because of an error
	statusPrefix          = "status_"
)

// Reasons returns all reasons.
func Reasons() []string {
	return []string{ReasonProxyProtocol, ReasonTLS, ReasonNoTLS, ReasonHandshake, ReasonIncomplete, ReasonHTTP2Connect, ReasonHTTP2Stream,
		ReasonHTTP2Connection, statusPrefix + "400", statusPrefix + "417", statusPrefix + "501", statusPrefix + "505"}
}

const (
	// DetailTLS is the detail for a TLS handshake on a port without TLS.
	DetailTLS = "this port has no TLS: use http"
	// DetailNoTLS is the detail for plain HTTP on the TLS port.
	DetailNoTLS = "this port requires TLS: use https"
	// DetailProxy is the detail for a connection that begins with a PROXY protocol header.
	DetailProxy = "the PROXY protocol is not supported: turn it off where the load balancer or the proxy connects to this server"
)

// IsTLS reports whether a connection begins with a TLS handshake record (RFC 8446, 5.1).
func IsTLS(beginning []byte) bool {
	return len(beginning) >= 3 && beginning[0] == 0x16 && beginning[1] == 3 && beginning[2] <= 4
}

// ProxyVersion returns the version of the PROXY protocol header at the beginning of a connection, or 0 for other data. Five bytes are
// enough to recognize the header.
func ProxyVersion(beginning []byte) int {
	switch {
	case bytes.HasPrefix(beginning, []byte("\r\n\r\n\x00")):
		return 2
	case bytes.HasPrefix(append(slices.Clip(beginning), ' '), []byte("PROXY ")):
		return 1
	}
	return 0
}
