package integration

import (
	"io"
	"net"
	"net/url"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// proxy forwards connections to an API server, or interrupts them.
type proxy struct {
	address, target string

	lock     sync.Mutex
	listener net.Listener
	forward  bool
	response string // sent on connections that are not forwarded
	open     []net.Conn
}

// startProxy starts a proxy, which runs until the end of the test.
func startProxy(server string) *proxy {
	GinkgoHelper()
	target, err := url.Parse(server)
	Expect(err).NotTo(HaveOccurred())
	p := &proxy{address: freeAddress(), target: target.Host}
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

// refuse closes all connections, and refuses new connections.
func (p *proxy) refuse() {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.listener = nil
	p.cut()
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
	var err error
	p.listener, err = net.Listen("tcp", p.address)
	Expect(err).NotTo(HaveOccurred())
	go p.serve(p.listener)
}

func (p *proxy) serve(listener net.Listener) {
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
