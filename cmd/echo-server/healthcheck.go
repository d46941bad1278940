package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/server"
)

// healthcheck returns an error if the server with these settings is not ready. It is part of the echo server because container engines run
// health checks inside the container, and the image contains no other program.
func healthcheck(ctx context.Context, arguments, environ []string, help io.Writer) error {
	settings, err := server.ParseSettings(version, arguments, environ, help)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", settings.AdminAddress) // without a host, this machine
	if err != nil {
		return fmt.Errorf("cannot reach the admin port: %w", err)
	}
	defer func() { _ = connection.Close() }() // the response has been read
	status, err := readyz(ctx, connection)
	if err != nil {
		return fmt.Errorf("no response from the admin port: %w", err)
	}
	if code, _, _ := strings.Cut(status, " "); code != "200" {
		return fmt.Errorf("not ready: /readyz on the admin port responds with %q", status)
	}
	return nil
}

// readyz returns the status of /readyz, such as "200 OK". It does not use the net/http client, which would make the program larger.
func readyz(ctx context.Context, connection net.Conn) (string, error) {
	deadline, _ := ctx.Deadline() // without a deadline, the zero time sets none
	if err := connection.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := io.WriteString(connection, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(connection).ReadSlice('\n')
	if err != nil {
		return "", err
	}
	version, status, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
	if !strings.HasPrefix(version, "HTTP/1.") {
		return "", fmt.Errorf("%.60q is not HTTP", line)
	}
	return status, nil
}
