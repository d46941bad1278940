// Package loopback reserves addresses on the loopback interface for programs that a test starts.
package loopback

import (
	"context"
	"errors"
	"net"
)

// ReserveAddress returns a free address for a program that cannot choose a port itself. For at least 30 seconds, the kernel gives the port to no
// other process that asks for a free port, because a closed connection to the port remains in the state TIME-WAIT (RFC 9293, section
// 3.3.2). A program that sets SO_REUSEADDR, as servers do, can listen on the address nevertheless.
func ReserveAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	address := listener.Addr().String()
	return address, errors.Join(Hold(ctx, listener), listener.Close())
}

// Hold reserves the address of a listener for the time after the caller closes the listener. It closes connections of other clients.
func Hold(ctx context.Context, listener net.Listener) error {
	client, err := (&net.Dialer{}).DialContext(ctx, "tcp", listener.Addr().String())
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // the server closes first, because the side that closes first remains in TIME-WAIT
	for {
		server, err := listener.Accept()
		if err != nil {
			return err
		}
		if err := server.Close(); err != nil || server.RemoteAddr().String() == client.LocalAddr().String() {
			return err
		}
	}
}
