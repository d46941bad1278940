package server

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/transport"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// maxHandshakes repeats the limit in the tlsserver package.
const maxHandshakes = 256

// clientHello returns the first message that a TLS client sends.
func clientHello(t *testing.T) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer func() { _ = far.Close() }()
	go func() { _ = tls.Client(near, &tls.Config{ServerName: "first"}).Handshake() }() // the handshake fails
	hello := make([]byte, 8<<10)
	n, err := far.Read(hello)
	if err != nil {
		t.Fatal(err)
	}
	return hello[:n]
}

// TestRunHandshake_timesOut stops in the middle of a handshake, and measures when the server closes the connection.
func TestRunHandshake_timesOut(t *testing.T) {
	hello := clientHello(t)
	for name, c := range map[string]struct {
		sent  []byte
		reads bool
	}{
		"nothing":                          {nil, true},
		"half of the first message":        {hello[:len(hello)/2], true},
		"the first message":                {hello, true},
		"a client that does not read":      {hello, false},
		"the first message, byte for byte": {hello, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			listener := echotest.NewMemoryListener()
			s := secureWith(t, listener, "")
			conn, began := listener.Dial(t), time.Now()
			if strings.HasSuffix(name, "byte for byte") {
				for i := range c.sent[:len(c.sent)-1] {
					_, _ = conn.Write(c.sent[i : i+1])
					<-time.After(time.Millisecond)
				}
			} else if len(c.sent) > 0 {
				_, _ = conn.Write(c.sent)
			}
			if c.reads {
				_, _ = io.Copy(io.Discard, conn)
			} else {
				<-time.After(2 * transport.HeaderTimeout)
				_, err := conn.Read(make([]byte, 1))
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: after the time for the handshake %v", name, err)
				}
			}
			synctest.Wait()
			if took := time.Since(began); c.reads && took != transport.HeaderTimeout {
				t.Errorf("%s: closed after %s", name, took)
			}
			_ = s.server.Close()
		})
	}
}

// TestNewListener_evictsOldestHandshake begins more handshakes than the limit allows. The server must abort the oldest one. A complete
// handshake must not count toward the limit.
func TestNewListener_evictsOldestHandshake(t *testing.T) {
	hello := clientHello(t)
	synctest.Test(t, func(t *testing.T) {
		listener := echotest.NewMemoryListener()
		s := secureWith(t, listener, "")
		open := func() net.Conn {
			connection := listener.Dial(t)
			_, _ = connection.Write(hello)
			synctest.Wait()
			return connection
		}
		first := open()
		for range maxHandshakes - 1 {
			open()
		}
		listener.Dial(t) // sends nothing, so that no handshake begins
		ended := make(chan struct{})
		go func() {
			_, _ = io.Copy(io.Discard, first)
			close(ended)
		}()
		synctest.Wait()
		if isClosed(ended) || counted(s.metrics.rejected, transport.LimitHandshakes) != 0 {
			t.Errorf("at the limit %d are dropped", counted(s.metrics.rejected, transport.LimitHandshakes))
		}
		config := s.config()
		config.ServerName = "first"
		complete := listener.Dial(t)
		if err := tls.Client(complete, config).Handshake(); err != nil {
			t.Errorf("one over the limit fails: %v", err)
		}
		synctest.Wait()
		if !isClosed(ended) || counted(s.metrics.rejected, transport.LimitHandshakes) != 1 {
			t.Errorf("over the limit %d are dropped, the first: %t", counted(s.metrics.rejected, transport.LimitHandshakes), isClosed(ended))
		}
		open() // uses the slot that the complete handshake freed
		if counted(s.metrics.rejected, transport.LimitHandshakes) != 1 {
			t.Errorf("a complete handshake is still counted: %d are dropped", counted(s.metrics.rejected, transport.LimitHandshakes))
		}
		_ = complete.Close() // otherwise, closing the server waits until the client reads the alert
		synctest.Wait()
		_ = s.server.Close()
	})
}

// TestTransport_closesQuickly closes the connections of a client that no longer reads.
func TestTransport_closesQuickly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := echotest.NewMemoryListener()
		s := secureWith(t, listener, "")
		config := s.config()
		config.ServerName = "first"
		client := tls.Client(listener.Dial(t), config)
		if _, err := io.WriteString(client, "GET /-/livez HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(client).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Fatalf("the response is %q, %v", line, err)
		}
		synctest.Wait()
		began := time.Now()
		if err := s.server.Shutdown(t.Context()); err != nil || time.Since(began) > time.Second {
			t.Errorf("it took %s, %v", time.Since(began), err)
		}
	})
}

// TestTransport_limitsHandshakeSize sends a first message below the size limit and one above it, each with many protocol names.
func TestTransport_limitsHandshakeSize(t *testing.T) {
	s := serveTLS(t, "")
	for size, want := range map[int]bool{12 << 10: true, 20 << 10: false} {
		config := s.config()
		config.NextProtos = []string{"h2"}
		for range size / 201 {
			config.NextProtos = append(config.NextProtos, strings.Repeat("x", 200))
		}
		connection, err := tls.Dial("tcp", s.address, config)
		if (err == nil) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
		if err == nil {
			_ = connection.Close()
		}
	}
}
