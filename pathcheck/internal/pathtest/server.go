package pathtest

import (
	"net"
	"testing"
)

// Serve handles connections until the end of the test, and returns the server's URL.
func Serve(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener := listen(t)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = connection.Close() }()
				handle(connection)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}
