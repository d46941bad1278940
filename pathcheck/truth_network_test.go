package pathcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

const (
	clientIP, proxyIP, deadIP, silentIP, unroutedIP = "192.0.2.17", "198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4"

	// segmentSize is the size of the pieces that travel. The others are how much data a connection holds in one direction: more if it has to
	// travel far, as with the automatic windows of Linux.
	segmentSize, windowSize, farWindowSize = 16 << 10, 256 << 10, 4 << 20
)

// network is a TCP network in memory. In a synctest bubble, its time is virtual.
type network struct {
	hosts map[string][]string // the addresses of names
	nat   bool                // servers see the proxy's address instead of the client's

	mutex     sync.Mutex
	listeners map[string]*memoryListener
	open      []*memoryConn
	lastPort  int
}

func newNetwork() *network {
	return &network{listeners: map[string]*memoryListener{}, lastPort: 40_000, hosts: map[string][]string{"shop.example.com": {proxyIP}}}
}

func (n *network) listen(address string) *memoryListener {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	l := &memoryListener{echotest.NewMemoryListener(), net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))}
	l.Connections = make(chan net.Conn, 64)
	n.listeners[address] = l
	return l
}

// close resets all connections, so that everything that uses them ends.
func (n *network) close() {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	for _, each := range n.open {
		each.abort()
	}
}

// dial returns a function that connects from an address, as net.Dialer does: it tries the addresses of a name one after another.
func (n *network) dial(from string, p line) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		addresses, ok := n.hosts[host]
		if !ok {
			addresses = []string{host}
		}
		var c net.Conn
		for _, each := range addresses {
			if c, err = n.connect(ctx, from, net.JoinHostPort(each, port), p); err == nil {
				return c, nil
			}
		}
		return nil, err
	}
}

func (n *network) connect(ctx context.Context, from, to string, p line) (net.Conn, error) {
	remote, err := netip.ParseAddrPort(to)
	if err != nil {
		return nil, &net.DNSError{Err: "no such host", Name: to, IsNotFound: true}
	}
	wait, failure := p.up.delay()+p.down.delay(), error(syscall.ECONNREFUSED)
	switch remote.Addr().String() {
	case silentIP:
		wait, failure = 5*time.Second, os.ErrDeadlineExceeded
	case unroutedIP:
		failure = syscall.ENETUNREACH
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(remote), Err: ctx.Err()}
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	l := n.listeners[to]
	if l == nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: net.TCPAddrFromAddrPort(remote), Err: failure}
	}
	n.lastPort++
	local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(fmt.Sprintf("%s:%d", from, n.lastPort)))
	up, down := newHalf(p.up), newHalf(p.down)
	near := &memoryConn{in: down, out: up, local: local, remote: l.address}
	far := &memoryConn{in: up, out: down, local: l.address, remote: local}
	if n.nat {
		far.remote = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(fmt.Sprintf("%s:%d", proxyIP, n.lastPort)))
	}
	n.open = append(n.open, near, far)
	select {
	case l.Connections <- far:
		return near, nil
	case <-l.Closed:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.address, Err: syscall.ECONNREFUSED}
	}
}

// memoryListener is a listener with the address of a host.
type memoryListener struct {
	*echotest.MemoryListener
	address net.Addr
}

func (l *memoryListener) Addr() net.Addr { return l.address }

// link is one direction of a line that connections share. A nil link is a line without limits.
type link struct {
	latency        time.Duration
	bytesPerSecond int // 0 means no limit

	mutex sync.Mutex
	free  time.Time // when the line has sent everything that it was given
}

// line connects two hosts.
type line struct{ up, down *link }

func (l *link) delay() time.Duration {
	if l == nil {
		return 0
	}
	return l.latency
}

// arrival returns when bytes that are sent now arrive.
func (l *link) arrival(bytes int) time.Time {
	now := time.Now()
	if l == nil {
		return now
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.free.Before(now) {
		l.free = now
	}
	if l.bytesPerSecond > 0 {
		l.free = l.free.Add(time.Duration(bytes) * time.Second / time.Duration(l.bytesPerSecond))
	}
	return l.free.Add(l.latency)
}

// segment is data, or the end of a direction, that arrives at a time.
type segment struct {
	data []byte
	end  error // io.EOF or a reset; nil for data
	at   time.Time
}

// half is one direction of a connection. No goroutine waits while it holds the mutex, because synctest would not count it as blocked.
type half struct {
	link   *link
	window int

	mutex                       sync.Mutex
	changed                     chan struct{} // closed and replaced after each change
	queue                       []segment
	size                        int
	ended, deaf                 bool // the writer, and the reader, has closed the half
	readDeadline, writeDeadline time.Time
}

func newHalf(l *link) *half {
	h := &half{link: l, window: windowSize, changed: make(chan struct{})}
	if l.delay() > 0 {
		h.window = farWindowSize
	}
	return h
}

// change changes a half, and wakes everyone who waits for a change.
func (h *half) change(apply func()) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	apply()
	close(h.changed)
	h.changed = make(chan struct{})
}

// await repeats a step, which the mutex protects, until it is done. A step that is not done returns when to repeat it at the latest.
func (h *half) await(step func(now time.Time) (done bool, until time.Time)) {
	for {
		h.mutex.Lock()
		now, changed := time.Now(), h.changed
		done, until := step(now)
		h.mutex.Unlock()
		switch {
		case done:
			return
		case until.IsZero():
			<-changed
		default:
			timer := time.NewTimer(until.Sub(now))
			select {
			case <-changed:
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

func passed(deadline, now time.Time) bool { return !deadline.IsZero() && !deadline.After(now) }

func (h *half) read(p []byte) (n int, err error) {
	h.await(func(now time.Time) (bool, time.Time) {
		until := h.readDeadline
		switch {
		case h.deaf:
			err = net.ErrClosed
		case passed(h.readDeadline, now):
			err = os.ErrDeadlineExceeded
		case len(h.queue) == 0:
			return len(p) == 0, until
		case h.queue[0].at.After(now):
			if at := h.queue[0].at; until.IsZero() || at.Before(until) {
				until = at
			}
			return false, until
		case h.queue[0].end != nil:
			err = h.queue[0].end
		default:
			n = h.take(p, now)
		}
		return true, time.Time{}
	})
	if n > 0 {
		h.change(func() {}) // there is room for the writer
	}
	return n, err
}

// take moves data that has arrived into p.
func (h *half) take(p []byte, now time.Time) (n int) {
	for n < len(p) && len(h.queue) > 0 && h.queue[0].end == nil && !h.queue[0].at.After(now) {
		copied := copy(p[n:], h.queue[0].data)
		n, h.size = n+copied, h.size-copied
		if h.queue[0].data = h.queue[0].data[copied:]; len(h.queue[0].data) == 0 {
			h.queue = h.queue[1:]
		}
	}
	return n
}

func (h *half) write(p []byte) (written int, err error) {
	for written < len(p) && err == nil {
		h.await(func(now time.Time) (bool, time.Time) {
			switch {
			case h.ended:
				err = net.ErrClosed
			case h.deaf:
				err = &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}
			case passed(h.writeDeadline, now):
				err = os.ErrDeadlineExceeded
			case h.size >= h.window:
				return false, h.writeDeadline
			default:
				data := bytes.Clone(p[written:min(len(p), written+segmentSize)])
				h.queue = append(h.queue, segment{data: data, at: h.link.arrival(len(data))})
				written, h.size = written+len(data), h.size+len(data)
			}
			return true, time.Time{}
		})
		if err == nil {
			h.change(func() {})
		}
	}
	return written, err
}

// finish ends the half for its reader. A reset overtakes data that has not arrived.
func (h *half) finish(end error) {
	h.change(func() {
		if h.ended && errors.Is(end, io.EOF) {
			return
		}
		if now := time.Now(); !errors.Is(end, io.EOF) {
			for len(h.queue) > 0 && (h.queue[len(h.queue)-1].end != nil || h.queue[len(h.queue)-1].at.After(now)) {
				h.size -= len(h.queue[len(h.queue)-1].data)
				h.queue = h.queue[:len(h.queue)-1]
			}
		}
		h.ended = true
		h.queue = append(h.queue, segment{end: end, at: h.link.arrival(0)})
	})
}

// memoryConn is one side of a connection. It implements net.Conn, and has the methods of *net.TCPConn that servers use.
type memoryConn struct {
	in, out       *half
	local, remote net.Addr
	resets        atomic.Bool // Close sends a reset
}

func (c *memoryConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *memoryConn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *memoryConn) LocalAddr() net.Addr         { return c.local }
func (c *memoryConn) RemoteAddr() net.Addr        { return c.remote }

func (c *memoryConn) SetLinger(int) error {
	c.resets.Store(true)
	return nil
}

func (c *memoryConn) CloseWrite() error {
	c.out.finish(io.EOF)
	return nil
}

// Close also resets the connection if the other side has sent data that was not read, as Linux does.
func (c *memoryConn) Close() error {
	unread := false
	c.in.change(func() {
		unread = c.in.size > 0 && !c.in.deaf
		c.in.deaf = true
	})
	if unread || c.resets.Load() {
		c.out.finish(&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET})
	} else {
		c.out.finish(io.EOF)
	}
	return nil
}

func (c *memoryConn) abort() {
	c.resets.Store(true)
	_ = c.Close()
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.change(func() { c.in.readDeadline = t })
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.change(func() { c.out.writeDeadline = t })
	return nil
}

func (c *memoryConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}
