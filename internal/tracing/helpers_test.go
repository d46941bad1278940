package tracing

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
)

// collector is a collector of OpenTelemetry that keeps what it receives.
type collector struct {
	*httptest.Server

	lock sync.Mutex
	// answer is what it answers with, nil for what a collector answers if all is well. It is called after the request was kept.
	answer   http.HandlerFunc
	requests []*http.Request
	received []exportRequest
}

// newCollector returns a collector, which runs until the end of the test.
func newCollector(t *testing.T, start func(http.Handler) *httptest.Server) *collector {
	t.Helper()
	c := &collector{}
	c.Server = start(c)
	t.Cleanup(c.Close)
	return c
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received := exportRequest{}
	if err := json.NewDecoder(r.Body).Decode(&received); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.lock.Lock()
	c.requests, c.received = append(c.requests, r), append(c.received, received)
	answer := c.answer
	c.lock.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	_, _ = w.Write([]byte(`{"partialSuccess":{}}`))
}

// answers changes what the collector answers with.
func (c *collector) answers(answer http.HandlerFunc) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.answer = answer
}

// spans returns the spans that the collector received, by name.
func (c *collector) spans() map[string]span {
	c.lock.Lock()
	defer c.lock.Unlock()
	all := map[string]span{}
	for _, request := range c.received {
		for _, s := range request.ResourceSpans[0].ScopeSpans[0].Spans {
			all[s.Name] = s
		}
	}
	return all
}

// texts returns attributes as text.
func texts(list []keyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		if a.Value.Int != nil {
			all[a.Key] = *a.Value.Int
		} else {
			all[a.Key] = *a.Value.String
		}
	}
	return all
}

// settingsFor returns the settings for sending spans to a server.
func settingsFor(t *testing.T, server *httptest.Server) Settings {
	t.Helper()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return Settings{endpoint: address, timeout: time.Minute}
}

// logged is a log whose lines can be read while it is written.
type logged struct {
	lock  sync.Mutex
	lines []string
}

func (l *logged) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		l.lock.Lock()
		defer l.lock.Unlock()
		l.lines = append(l.lines, line)
	}, funcr.Options{})
}

func (l *logged) all() []string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return slices.Clone(l.lines)
}

func newDropped() prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: "dropped"})
}
