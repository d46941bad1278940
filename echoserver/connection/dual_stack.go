package connection

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// ListenFunc is the type of net.ListenConfig.Listen.
type ListenFunc func(ctx context.Context, network, address string) (net.Listener, error)

// ListenDualStack listens on IPv6 and IPv4, or only on IPv4 if IPv6 is disabled on the node.
func ListenDualStack(ctx context.Context, listen ListenFunc, address string) (net.Listener, error) {
	listener, err := listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		listener, err = listen(ctx, "tcp4", address)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen: %w", err)
	}
	return listener, nil
}
