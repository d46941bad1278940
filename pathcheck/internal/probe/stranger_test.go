package probe

import (
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// TestNetworkReason_sameInEachRun checks that the reason for a missing response contains neither a port nor a pod's address.
func TestNetworkReason_sameInEachRun(t *testing.T) {
	local, remote := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 41618}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}
	reset := &net.OpError{Op: "read", Net: "tcp", Source: local, Addr: remote, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for want, err := range map[string]error{
		"read: connection reset by peer":                reset,
		"TLS handshake: read: connection reset by peer": errors.Join(wire.ErrHandshake, reset),
		"lookup a: no such host": &net.OpError{Op: "dial",
			Err: &net.DNSError{Name: "a", Err: "no such host", Server: "10.0.0.10:53"}},
		"DNS does not respond": &net.DNSError{Name: "a", Err: "read udp 10.0.0.9:5353->10.0.0.10:53: i/o timeout",
			IsTimeout: true},
	} {
		if got := networkReason(err); got != want || strings.Contains(got, "10.0") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
