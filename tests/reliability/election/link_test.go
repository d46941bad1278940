package election

import (
	"bytes"
	"context"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// silence is how long a client waits for the response to a lost request, unless the client gives up earlier.
const silence = 15 * time.Second

// weather determines how likely a request is to be lost, and how long it may be delayed.
type weather struct {
	// leaseLoss is the share of lease requests that are lost, and loss is the share for other requests.
	loss, leaseLoss float64
	// delay is the longest total delay of a request and its response.
	delay time.Duration
}

// fate describes what happens to one request.
type fate struct {
	before, after          time.Duration
	lost, answerLost, hang bool
}

// network simulates the network between the replicas and the API server.
type network struct {
	lock   sync.Mutex
	random *rand.Rand
	now    weather
}

func (n *network) set(w weather) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.now = w
}

// draw randomly determines the fate of the next request. For half of the lost requests, only the response is lost. Independently, half of
// the lost requests leave the client waiting.
func (n *network) draw(lease bool) fate {
	n.lock.Lock()
	defer n.lock.Unlock()
	loss := n.now.loss
	if lease {
		loss = n.now.leaseLoss
	}
	both := time.Duration(n.random.Float64() * float64(n.now.delay))
	before := time.Duration(n.random.Float64() * float64(both))
	f := fate{before: before, after: both - before, hang: n.random.IntN(2) == 0}
	if n.random.Float64() < loss {
		f.answerLost = n.random.IntN(2) == 0
		f.lost = !f.answerLost
	}
	return f
}

// link forwards the requests of one process to the API server.
type link struct {
	process int
	network *network
	journal *journal
	server  *url.URL
	carrier http.RoundTripper
}

// serve starts a server for a link. Like the API server, this server supports HTTP/2.
func (l *link) serve() *httptest.Server {
	server := httptest.NewUnstartedServer(l)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	return server
}

// newLink returns a link that sends requests with a user's permissions to an API server.
func newLink(config *rest.Config, process int, n *network, j *journal) (*link, error) {
	carrier, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(config.Host)
	return &link{process: process, network: n, journal: j, server: server, carrier: carrier}, err
}

func (l *link) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client gave up before it had sent the whole body
	}
	entry := l.journal.begin(request{process: l.process, verb: r.Method, path: r.URL.Path, holder: holderIn(r.URL.Path, body)})
	f := l.network.draw(entry.isLease())
	<-time.After(f.before) // the request is forwarded even if the client gives up in the meantime
	if f.lost {
		l.lose(r, f)
	}
	l.journal.write(func(now time.Duration) { entry.arrived = now })
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.URL.Query().Has("watch") {
		l.proxy().ServeHTTP(w, r)
		return
	}
	l.exchange(w, r, f, entry)
}

// exchange gets the API server's response, and sends the response to the client unless the response is lost.
func (l *link) exchange(w http.ResponseWriter, r *http.Request, f fate, entry *request) {
	answer := httptest.NewRecorder()
	l.proxy().ServeHTTP(answer, r.WithContext(context.WithoutCancel(r.Context())))
	l.journal.write(func(time.Duration) { entry.code = answer.Code })
	<-time.After(f.after)
	if f.answerLost {
		l.lose(r, f)
	}
	l.journal.write(func(now time.Duration) {
		if r.Context().Err() == nil {
			entry.answered = now
		}
	})
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // this fails if the client gave up
}

func (l *link) proxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(l.server) },
		Transport:     l.carrier,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
}

// lose ends an exchange without a response, either immediately or after the time that silence specifies.
func (l *link) lose(r *http.Request, f fate) {
	if f.hang {
		select {
		case <-r.Context().Done():
		case <-time.After(silence):
		}
	}
	panic(http.ErrAbortHandler)
}

// holderIn returns the holder identity in a write to the lease.
func holderIn(path string, body []byte) string {
	if !strings.Contains(path, "/leases") || len(body) == 0 {
		return ""
	}
	lease := &coordinationv1.Lease{}
	if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, lease); err != nil {
		return "unknown: " + err.Error()
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
