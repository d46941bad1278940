package integration

import (
	"context"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/echo-operator/echo-operator/tests/support/loopback"
)

// proxy forwards connections to an API server, or interrupts them.
type proxy struct {
	address, target string

	lock     sync.Mutex
	listener *net.TCPListener // nil while connections are refused
	stopped  chan struct{}    // closed when nothing accepts connections of the listener
	forward  bool
	response string // sent on connections that are not forwarded
	open     []net.Conn
}

// startProxy starts a proxy, which runs until the end of the test.
func startProxy(server string) *proxy {
	GinkgoHelper()
	target, err := url.Parse(server)
	Expect(err).NotTo(HaveOccurred())
	p := &proxy{address: reserveAddress(), target: target.Host}
	p.accept()
	DeferCleanup(p.refuse)
	return p
}

// kubeconfig returns a kubeconfig with the proxy's address instead of the API server's.
func (p *proxy) kubeconfig(kubeconfig []byte) []byte {
	GinkgoHelper()
	Expect(string(kubeconfig)).To(ContainSubstring(p.target))
	return []byte(strings.ReplaceAll(string(kubeconfig), p.target, p.address))
}

// accept starts forwarding new connections.
func (p *proxy) accept() { p.listen(true, "") }

// drop closes all connections, and immediately closes new connections.
func (p *proxy) drop() { p.listen(false, "") }

// respondInvalid closes all connections, and sends an invalid response on new connections.
func (p *proxy) respondInvalid() { p.listen(false, "invalid\n") }

// refuse closes all connections, and refuses new connections. It reserves the address for later listeners.
func (p *proxy) refuse() {
	GinkgoHelper()
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.listener == nil {
		return
	}
	p.forward = false
	Expect(p.listener.SetDeadline(time.Now())).To(Succeed())
	p.lock.Unlock() // serve may be handling a connection
	<-p.stopped
	p.lock.Lock()
	p.cut()
	Expect(p.listener.SetDeadline(time.Time{})).To(Succeed())
	Expect(loopback.Hold(context.Background(), p.listener)).To(Succeed())
	Expect(p.listener.Close()).To(Succeed())
	p.listener = nil
}

// cut closes all open connections. The caller must hold the lock.
func (p *proxy) cut() {
	for _, connection := range p.open {
		_ = connection.Close()
	}
	p.open = nil
}

func (p *proxy) listen(forward bool, response string) {
	GinkgoHelper()
	p.lock.Lock()
	defer p.lock.Unlock()
	p.forward, p.response = forward, response
	if !forward {
		p.cut()
	}
	if p.listener != nil {
		return
	}
	listener, err := net.Listen("tcp", p.address)
	Expect(err).NotTo(HaveOccurred())
	p.listener, p.stopped = listener.(*net.TCPListener), make(chan struct{})
	go p.serve(p.listener, p.stopped)
}

func (p *proxy) serve(listener net.Listener, stopped chan<- struct{}) {
	defer close(stopped)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		p.handle(connection)
	}
}

func (p *proxy) handle(from net.Conn) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if !p.forward {
		_, _ = io.WriteString(from, p.response)
		_ = from.Close()
		return
	}
	to, err := net.Dial("tcp", p.target)
	if err != nil {
		_ = from.Close()
		return
	}
	p.open = append(p.open, from, to)
	go func() { _, _ = io.Copy(from, to) }()
	go func() { _, _ = io.Copy(to, from) }()
}
