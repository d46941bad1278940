package websocket

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

const version = "13"

// isHandshake reports whether a request asks to upgrade the connection to a WebSocket, which HTTP/1.0, HTTP/2, and HEAD requests cannot do.
func isHandshake(r *http.Request) bool {
	return r.Method == http.MethodGet && r.ProtoMajor == 1 && r.ProtoMinor >= 1 &&
		httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
}

// checkHandshake returns the first subprotocol that a WebSocket request offers, if any. If the request is not valid, checkHandshake
// returns the status and the reason for the rejection (RFC 6455, 4.2). The library performs fewer checks, and does not name the header in
// its reasons.
func checkHandshake(r *http.Request) (subprotocol string, status int, err error) {
	subprotocol, isToken := firstElement(r.Header["Sec-Websocket-Protocol"])
	switch {
	case !httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade"):
		err = errors.New("the Connection header of a WebSocket handshake must contain Upgrade; a gateway may have removed it")
	case r.ContentLength != 0:
		err = errors.New("a WebSocket handshake must not have a body")
	case !isNonce(r.Header["Sec-Websocket-Key"]):
		err = errors.New("the Sec-WebSocket-Key header must be 16 bytes in base64")
	case strings.Join(r.Header["Sec-Websocket-Version"], ",") != version:
		return "", http.StatusUpgradeRequired, errors.New("the Sec-WebSocket-Version header must be " + version)
	case !isToken:
		err = errors.New("the Sec-WebSocket-Protocol header must be a list of tokens")
	}
	return subprotocol, http.StatusBadRequest, err
}

// isNonce reports whether Sec-WebSocket-Key has exactly one value, and the value is valid.
func isNonce(values []string) bool {
	if len(values) != 1 {
		return false
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(values[0])
	return err == nil && len(decoded) == 16
}

// firstElement returns the first element of a list, and whether it is a token (RFC 9110, 5.6). For an empty list, it returns "" and true.
func firstElement(values []string) (string, bool) {
	for _, value := range values {
		for element := range strings.SplitSeq(value, ",") {
			if element = strings.Trim(element, " \t"); element != "" {
				return element, httpguts.ValidHeaderFieldName(element)
			}
		}
	}
	return "", true
}

// rejectHandshake responds to an invalid WebSocket request.
func rejectHandshake(e *exchange.Exchange, status int, err error) {
	if status == http.StatusUpgradeRequired {
		e.Header().Add("Connection", "Upgrade")
		e.Header().Set("Upgrade", "websocket")
		e.Header().Set("Sec-WebSocket-Version", version)
	}
	exchange.Reject(e, status, err.Error())
}
