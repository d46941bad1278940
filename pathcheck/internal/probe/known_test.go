package probe

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// The test resolver sends no response for nameSilent, NXDOMAIN for nameUnknown, and SERVFAIL for nameServfail.
const (
	nameSilent   = "http://silent.test."
	nameUnknown  = "http://unknown.test."
	nameServfail = "http://servfail.test."
)

func TestSilenceOf(t *testing.T) {
	asked := make(chan bool, 100)
	dropped, refused := echotest.Silent(t), echotest.Refusing(t)
	open := echotest.Serve(t, func(net.Conn) {})
	service := echotest.Serve(t, func(net.Conn) { asked <- true })
	for name, c := range map[string]struct {
		resolver     string // its address
		url, service string
		want         verdict.Silence
		asked        int // how many times the Service is queried
	}{
		"a URL that refuses":                     {url: refused, service: service},
		"a URL that hangs up":                    {url: open, service: service},
		"a URL that drops":                       {url: dropped, want: verdict.SilentURL},
		"a URL that drops, the Service responds": {url: dropped, service: service, want: verdict.SilentURL, asked: 1},
		"a URL that drops, the Service refuses":  {url: dropped, service: refused, want: verdict.SilentURL},
		"a URL without a route":                  {url: "http://224.0.0.1", service: service, want: verdict.SilentURL, asked: 1},
		"both drop":                              {url: dropped, service: dropped, want: verdict.SilentAll},
		"a URL that drops, no such Service":      {url: dropped, service: nameUnknown, want: verdict.SilentURL},
		"a URL that drops, a silent resolver":    {url: dropped, service: nameSilent, want: verdict.SilentAll},
		"no such name":                           {url: nameUnknown, service: service},
		"SERVFAIL":                               {url: nameServfail, service: service},
		"a silent resolver":                      {url: nameSilent, want: verdict.SilentResolver},
		"a silent resolver for both":             {url: nameSilent, service: nameSilent, want: verdict.SilentResolver},
		"a resolver silent for the URL alone":    {url: nameSilent, service: nameUnknown},
		"a silent resolver, the Service drops":   {url: nameSilent, service: dropped, want: verdict.SilentAll},
		"a resolver that refuses":                {resolver: closedPort(t), url: nameUnknown, service: nameUnknown, want: verdict.SilentResolver},
	} {
		t.Run(name, func(t *testing.T) {
			useResolver(t, c.resolver)
			target, err := wire.ParseTarget(c.url, "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = Meet(soon(t), &wire.Client{Target: target, Limits: wire.NewLimits()}, NewEngine())
			if err == nil {
				t.Fatal("the URL responds")
			}
			if got := SilenceOf(soon(t), err, c.service); got != c.want {
				t.Errorf("%v: got %q, want %q", err, got, c.want)
			}
			for range c.asked {
				select {
				case <-asked:
				case <-time.After(10 * time.Second):
					t.Fatal("the Service was not queried")
				}
			}
			if len(asked) > 0 {
				t.Errorf("the Service was queried more than %d times", c.asked)
			}
		})
	}
}

// soon returns a context that expires before any system timeout.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// useResolver makes lookups use the resolver at the given address or, if it is empty, a resolver whose response depends on the name.
func useResolver(t *testing.T, address string) {
	t.Helper()
	if address == "" {
		address = serveErrors(t)
	}
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		// A lookup can outlast its test, so its dialer must not read a variable that the next test replaces.
		return (&net.Dialer{Resolver: &net.Resolver{}}).DialContext(ctx, "udp", address)
	}}
}

func serveErrors(t *testing.T) string {
	t.Helper()
	server, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for message := make([]byte, 512); ; {
			n, client, err := server.ReadFrom(message)
			if err != nil {
				return
			}
			if code := rcode(string(message[:n])); code != 0 {
				message[2], message[3] = message[2]|0x80, 0x80|code
				_, _ = server.WriteTo(message[:n], client)
			}
		}
	}()
	return server.LocalAddr().String()
}

// rcode returns the error code in the response to a query, or zero if the resolver does not respond.
func rcode(query string) byte {
	switch {
	case strings.Contains(query, "unknown"):
		return 3
	case strings.Contains(query, "servfail"):
		return 2
	}
	return 0
}

// closedPort returns an address at which no resolver listens.
func closedPort(t *testing.T) string {
	t.Helper()
	server, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	return server.LocalAddr().String()
}

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
