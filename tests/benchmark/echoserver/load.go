package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// loader is the client side of the connections.
type loader struct {
	request      []byte
	sent, wanted int
	took         []time.Duration // for each response
}

// connection is a connection with the part of a response that has arrived so far.
type connection struct {
	*net.TCPConn
	raw   syscall.RawConn
	data  [16 << 10]byte // longer than any response with its headers
	size  int
	asked time.Time // when the request was sent
}

// load sends requests over parallel connections. Each connection sends the next request as soon as the previous response is complete. load
// polls without sleeping, because waking a client takes CPU time from the server. It returns how long each request took.
func load(ctx context.Context, address, path string, connections, requests int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: benchmark\r\nAccept: */*\r\n\r\n")
	l := loader{request: request, wanted: requests}
	open := make([]*connection, connections)
	for i := range open {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		defer func() { _ = c.Close() }()
		open[i] = &connection{TCPConn: c.(*net.TCPConn)}
		if open[i].raw, err = open[i].SyscallConn(); err != nil {
			return nil, err
		}
	}
	for _, c := range open {
		if err := l.send(c); err != nil {
			return nil, err
		}
	}
	for len(l.took) < l.wanted {
		for _, c := range open {
			if err := errors.Join(ctx.Err(), l.receive(c)); err != nil {
				return nil, err
			}
		}
	}
	return l.took, nil
}

func (l *loader) send(c *connection) error {
	if l.sent == l.wanted {
		return nil
	}
	l.sent++
	c.asked = time.Now()
	_, err := c.Write(l.request)
	return err
}

// receive reads the available data, and sends the next request if the response is complete.
func (l *loader) receive(c *connection) error {
	var n int
	var problem error
	err := c.raw.Read(func(socket uintptr) bool {
		n, problem = syscall.Read(int(socket), c.data[c.size:])
		return true // do not wait
	})
	switch {
	case errors.Is(problem, syscall.EAGAIN):
		return nil
	case err != nil || problem != nil:
		return fmt.Errorf("reading: %w", errors.Join(err, problem))
	case n == 0:
		return errors.New("the connection was closed, or the response is too long")
	}
	c.size += n
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(c.data[:c.size])), nil)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil // the rest follows
	case err != nil:
		return err
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("the response is %s", response.Status)
	}
	c.size = 0
	l.took = append(l.took, time.Since(c.asked))
	return l.send(c)
}
