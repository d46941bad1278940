package main

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"

	"github.com/echo-operator/echo-operator/internal/proof"
)

const webSocketVersion = "13"

// handshake is what the server responds to a valid request for a WebSocket.
type handshake struct {
	accept      string
	subprotocol string // empty for none
	proof       string // empty if the request does not ask for it
}

// asksForWebSocket returns whether a request asks for the protocol WebSocket. HTTP/1.0 and HTTP/2 have no upgrades.
func asksForWebSocket(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoMinor >= 1 && hasToken(r.Header["Upgrade"], "websocket")
}

// handshakeOf returns the response to a request that asks for a WebSocket, or the status and the reason with which it is refused (RFC
// 6455, 4.2). Any origin may connect: it receives only what it sent, and gateways change the Host header that it would be compared with.
func handshakeOf(r *http.Request) (response handshake, status int, err error) {
	key, hasKey := nonce(r.Header["Sec-Websocket-Key"])
	subprotocol, isToken := firstElement(r.Header["Sec-Websocket-Protocol"])
	switch {
	case !hasToken(r.Header["Connection"], "upgrade"):
		err = errors.New("the header Connection of a WebSocket handshake must contain Upgrade; a gateway may have removed it")
	case r.ContentLength != 0:
		err = errors.New("a WebSocket handshake must not have a body")
	case !hasKey:
		err = errors.New("the header Sec-WebSocket-Key must be 16 bytes in base64")
	case strings.Join(r.Header["Sec-Websocket-Version"], ",") != webSocketVersion:
		return response, http.StatusUpgradeRequired, errors.New("the header Sec-WebSocket-Version must be " + webSocketVersion)
	case !isToken:
		err = errors.New("the header Sec-WebSocket-Protocol must be a list of tokens")
	}
	if err != nil {
		return response, http.StatusBadRequest, err
	}
	return handshake{accept: acceptOf(key), subprotocol: subprotocol}, http.StatusSwitchingProtocols, nil
}

// nonce returns the value of Sec-WebSocket-Key, and whether it is valid.
func nonce(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(values[0])
	return values[0], err == nil && len(decoded) == 16
}

// acceptOf returns the value of Sec-WebSocket-Accept for a key (RFC 6455, 4.2.2).
func acceptOf(key string) string {
	digest := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(digest[:])
}

// firstElement returns the first element of a list of tokens, empty if there is none, and whether it is a token (RFC 9110, 5.6).
func firstElement(values []string) (string, bool) {
	for _, value := range values {
		for element := range strings.SplitSeq(value, ",") {
			if element = strings.Trim(element, " \t"); element != "" {
				return element, isToken(element)
			}
		}
	}
	return "", true
}

// hasToken returns whether a list contains a token, which is in lower case.
func hasToken(values []string, token string) bool {
	for _, value := range values {
		for element := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.Trim(element, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// refuseHandshake responds to a request for a WebSocket that is not valid.
func refuseHandshake(e *exchange, status int, err error) {
	if status == http.StatusUpgradeRequired {
		e.Header().Add("Connection", "Upgrade")
		e.Header().Set("Upgrade", "websocket")
		e.Header().Set("Sec-WebSocket-Version", webSocketVersion)
	}
	refuse(e, status, err.Error())
}

// bytes returns the response. net/http does not write it, because the headers of other responses mean nothing here.
func (s handshake) bytes() []byte {
	text := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + s.accept + "\r\n"
	if s.subprotocol != "" {
		text += "Sec-WebSocket-Protocol: " + s.subprotocol + "\r\n"
	}
	if s.proof != "" {
		text += proof.ResponseHeader + ": " + s.proof + "\r\n"
	}
	return []byte(text + "\r\n")
}
