// Package websocket echoes WebSocket messages.
package websocket
