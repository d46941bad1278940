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

// proxy passes connections on to an API server, until it is told not to.
type proxy struct {
	address, target string

	lock     sync.Mutex
	listener net.Listener
	passing  bool
	answer   string // when it passes nothing on
	open     []net.Conn
}

// startProxy starts a proxy for as long as the test runs.
func startProxy(server string) *proxy {
	GinkgoHelper()
	target, err := url.Parse(server)
	Expect(err).NotTo(HaveOccurred())
	p := &proxy{address: freeAddress(), target: target.Host}
	p.accept()
	DeferCleanup(p.refuse)
	return p
}

// instead is a kubeconfig with the proxy in the API server's place.
func (p *proxy) instead(kubeconfig []byte) []byte {
	GinkgoHelper()
	Expect(string(kubeconfig)).To(ContainSubstring(p.target))
	return []byte(strings.ReplaceAll(string(kubeconfig), p.target, p.address))
}

// accept passes on what comes from now on.
func (p *proxy) accept() {
	GinkgoHelper()
	p.listen(true, "")
}

// refuse cuts all connections and takes no others.
func (p *proxy) refuse() {
	p.lock.Lock()
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.listener = nil
	p.lock.Unlock()
	p.cut()
}

// slam cuts all connections, and others as soon as they are made.
func (p *proxy) slam() {
	GinkgoHelper()
	p.listen(false, "")
	p.cut()
}

// babble cuts all connections, and gives others an answer that makes no sense.
func (p *proxy) babble() {
	GinkgoHelper()
	p.listen(false, "Come again?\n")
	p.cut()
}

func (p *proxy) cut() {
	p.lock.Lock()
	defer p.lock.Unlock()
	for _, connection := range p.open {
		_ = connection.Close()
	}
	p.open = nil
}

func (p *proxy) listen(passing bool, answer string) {
	GinkgoHelper()
	p.lock.Lock()
	defer p.lock.Unlock()
	p.passing, p.answer = passing, answer
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
		p.pass(connection)
	}
}

func (p *proxy) pass(from net.Conn) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if !p.passing {
		_, _ = io.WriteString(from, p.answer)
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
