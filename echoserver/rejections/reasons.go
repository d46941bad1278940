package rejections

import (
	"bytes"
	"slices"
)

// These constants are the reasons for rejections before a handler is called.
const (
	ReasonProxyProtocol    = "proxy_protocol"    // the connection begins with a PROXY protocol header
	ReasonTLS              = "tls"               // TLS on the port without TLS
	ReasonNoTLS            = "no_tls"            // HTTP without TLS on the port with TLS
	ReasonHandshake        = "tls_handshake"     // the handshake failed
	ReasonRequestLine      = "request_line"      // method, target or version
	ReasonHost             = "host"              // none, several, or not valid
	ReasonField            = "header_field"      // another field that is not valid
	ReasonContentLength    = "content_length"    // not a number, or several numbers
	ReasonTransferEncoding = "transfer_encoding" // not chunked
	ReasonExpectation      = "expectation"       // not 100-continue
	ReasonIncomplete       = "incomplete_header" // the end of the header did not arrive
	ReasonHTTP2Connect     = "http2_connect"     // a CONNECT that is not valid, or a WebSocket (RFC 8441)
	ReasonHTTP2Stream      = "http2_stream"      // the stream was reset
	ReasonHTTP2Connection  = "http2_connection"  // an error ended the connection
	ReasonOther            = "other"             // the header is not known
	// reasonHeader is the reason for headers that are too large. Package connection also rejects such headers.
	reasonHeader = "header"
)

// Reasons returns all reasons, for metrics.
func Reasons() []string {
	return []string{ReasonProxyProtocol, ReasonTLS, ReasonNoTLS, ReasonHandshake, ReasonRequestLine, ReasonHost, ReasonField,
		ReasonContentLength, ReasonTransferEncoding, ReasonExpectation, ReasonIncomplete, ReasonHTTP2Connect, ReasonHTTP2Stream,
		ReasonHTTP2Connection, ReasonOther}
}

const (
	// DetailTLS is the detail for a TLS handshake on the port without TLS.
	DetailTLS = "this port has no TLS: use http"
	// DetailNoTLS is the detail for HTTP on the port with TLS.
	DetailNoTLS = "this port requires TLS: use https"
	// DetailProxy is the detail for the PROXY protocol.
	DetailProxy = "the PROXY protocol is not supported: turn it off where the load balancer or the proxy connects to this server"
)

// IsTLS reports whether a connection begins with a TLS handshake record (RFC 8446, 5.1).
func IsTLS(beginning []byte) bool {
	return len(beginning) >= 3 && beginning[0] == 0x16 && beginning[1] == 3 && beginning[2] <= 4
}

// ProxyVersion returns the version of the PROXY protocol header with which a connection begins, or 0 if there is none. Five bytes are
// enough to recognize a header.
func ProxyVersion(beginning []byte) int {
	switch {
	case bytes.HasPrefix(beginning, []byte("\r\n\r\n\x00")):
		return 2
	case bytes.HasPrefix(append(slices.Clip(beginning), ' '), []byte("PROXY ")):
		return 1
	}
	return 0
}
