// Package websocket echoes the messages of WebSockets.
package websocket
