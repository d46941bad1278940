package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"
)

// loader is the client side of the connections.
type loader struct {
	poll         int
	request      []byte
	sent, wanted int
	took         []time.Duration // for each response
	open         map[int32]*answer
}

// answer is the part of a response that has arrived so far.
type answer struct {
	data  [16 << 10]byte // longer than any response with its headers
	size  int
	asked time.Time // when the request was sent
}

// load sends requests over parallel connections. Each connection sends the next request as soon as the previous response is complete. load
// polls without sleeping, because waking a client takes CPU time from the server. It returns how long each request took.
func load(ctx context.Context, address, path string, connections, requests int) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	poll, err := syscall.EpollCreate1(0)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	request := []byte("GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: benchmark\r\nAccept: */*\r\n\r\n")
	l := loader{poll: poll, request: request, wanted: requests, open: map[int32]*answer{}}
	defer func() {
		for socket := range l.open {
			_ = syscall.Close(int(socket))
		}
		_ = syscall.Close(poll)
	}()
	for range connections {
		if err := l.connect(address); err != nil {
			return nil, fmt.Errorf("connecting: %w", err)
		}
	}
	err = l.run(ctx)
	return l.took, err
}

func (l *loader) connect(address string) error {
	target, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return err
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	l.open[int32(socket)] = &answer{}
	if err := syscall.Connect(socket, &syscall.SockaddrInet4{Port: target.Port, Addr: [4]byte(target.IP.To4())}); err != nil {
		return err
	}
	if err := errors.Join(syscall.SetNonblock(socket, true),
		syscall.SetsockoptInt(socket, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)); err != nil {
		return err
	}
	event := &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(socket)}
	return syscall.EpollCtl(l.poll, syscall.EPOLL_CTL_ADD, socket, event)
}

func (l *loader) run(ctx context.Context) error {
	for socket := range l.open {
		if err := l.send(socket); err != nil {
			return err
		}
	}
	events := make([]syscall.EpollEvent, len(l.open))
	for len(l.took) < l.wanted {
		n, err := syscall.EpollWait(l.poll, events, 0)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("epoll: %w", err)
		}
		for _, event := range events[:max(n, 0)] {
			if err := l.receive(event.Fd); err != nil {
				return err
			}
		}
		if n <= 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

func (l *loader) send(socket int32) error {
	if l.sent == l.wanted {
		return nil
	}
	l.sent++
	l.open[socket].asked = time.Now()
	_, err := syscall.Write(int(socket), l.request)
	return err
}

// receive reads the available data, and sends the next request if the response is complete.
func (l *loader) receive(socket int32) error {
	a := l.open[socket]
	n, err := syscall.Read(int(socket), a.data[a.size:])
	if err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	if n == 0 {
		return errors.New("the connection was closed, or the response is too long")
	}
	a.size += n
	length, err := answerLength(a.data[:a.size])
	if err != nil || length < 0 || a.size < length {
		return err
	}
	a.size = 0
	l.took = append(l.took, time.Since(a.asked))
	return l.send(socket)
}

// answerLength returns the length of a response that begins with data, or -1 if the length is not known yet. All measured servers send
// Content-Length.
func answerLength(data []byte) (int, error) {
	headers, _, ok := bytes.Cut(data, []byte("\r\n\r\n"))
	if !ok {
		return -1, nil
	}
	if !bytes.HasPrefix(headers, []byte("HTTP/1.1 200")) {
		return 0, fmt.Errorf("the response begins with %.100q", headers)
	}
	_, after, ok := bytes.Cut(headers, []byte("\r\nContent-Length: "))
	if !ok {
		return 0, errors.New("the response has no Content-Length")
	}
	value, _, _ := bytes.Cut(after, []byte("\r\n"))
	body, err := strconv.Atoi(string(value))
	return len(headers) + len("\r\n\r\n") + body, err
}
