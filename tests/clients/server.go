// Package clients starts the echo server, and gateways in front of it, for the tests in its subdirectories.
package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Server is a running echo server.
type Server struct {
	Address, Admin string // host and port
	HTTPS          string // host and port for TLS, if ECHO_TLS_ADDR is set
	Process        *os.Process
}

// Start builds and starts the echo server with additional environment variables, and returns its address. The server stops after the test.
func Start(t *testing.T, environ ...string) string {
	t.Helper()
	return Run(t, environ...).Address
}

// Run is like Start, but returns the running server instead of its address.
func Run(t *testing.T, environ ...string) Server {
	t.Helper()
	program := filepath.Join(t.TempDir(), "echo-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-X main.version=v0.1.0", "-o", program,
		"./cmd/echo-server")
	build.Dir = filepath.Join("..", "..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	server := exec.CommandContext(t.Context(), program, "--http-addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0")
	server.Env = append(os.Environ(), environ...)
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Wait() }) // Wait returns an error, because the process is killed after the test
	var first struct{ Address, Admin, HTTPS string }
	log := bufio.NewReader(stderr)
	line, err := log.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &first) != nil || first.Address == "" {
		t.Fatalf("the first line of the log is %q, with the error %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }() // keeps reading, because a full pipe would block the server
	return Server{Address: first.Address, Admin: first.Admin, HTTPS: first.HTTPS, Process: server.Process}
}

// Listen listens on a free port, for StartGateway.
func Listen(t *testing.T) *net.TCPListener {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// StartGateway starts a gateway until the end of the test, and returns its URL. It passes the open socket as file descriptor 3, so that
// connections wait for the gateway, and no other process can use the port.
func StartGateway(t *testing.T, program *exec.Cmd, listener *net.TCPListener) string {
	t.Helper()
	defer func() { _ = listener.Close() }()
	socket, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	program.ExtraFiles = []*os.File{socket}
	output := &bytes.Buffer{}
	program.Stdout, program.Stderr = output, output
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := program.Wait(); t.Failed() { // the process is stopped at the end of the test
			t.Logf("%s: %v\n%s", program.Path, err, output)
		}
	})
	return "http://" + listener.Addr().String()
}
