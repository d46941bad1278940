package probe

import (
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestDecideRetries(t *testing.T) {
	pods := podCounts{}
	a, b := &wire.Description{Pod: "a"}, &wire.Description{Pod: "b"}
	pods.add(a, 2, true)  // the second attempt at pod a
	pods.add(a, 3, false) // a lookup
	pods.add(b, 2, false) // one attempt at pod b, and a lookup
	pods.add(b, 3, false)
	if pods.total() != 3 {
		t.Errorf("%v are %d attempts", pods, pods.total())
	}
	expectValue(t, "two retries", decideRetries("retries.get", "GET", 3), "2")
	expectValue(t, "none", decideRetries("retries.get", "GET", 1), "0")
	expectValue(t, "no response", decideRetries("retries.get", "GET", 0), "not reported")
}

func TestDecideLoadBalancing(t *testing.T) {
	of := func(pods, peers map[string]int, cookies ...string) *seen {
		total := 0
		for _, count := range pods {
			total += count
		}
		return &seen{pods: pods, peers: peers, responses: total, cookies: cookies}
	}
	own := map[string]int{"1": 1, "2": 1, "3": 1, "4": 1}
	both, one := of(map[string]int{"a": 2, "b": 2}, own), of(map[string]int{"a": 4}, own)
	for name, c := range map[string]struct {
		each, shared *seen
		want         []string // keepAlive, upstream, pods, affinity
	}{
		"one pod":              {one, one, []string{Yes, "new each time", "1", "one pod"}},
		"two pods":             {both, both, []string{Yes, "new each time", "2", None}},
		"one for a connection": {both, one, []string{Yes, "new each time", "2", "connection"}},
		"a cookie":             {of(both.pods, own, "route"), both, []string{Yes, "new each time", "2", "cookie"}},
		"connections in a row": {of(both.pods, map[string]int{"1": 4}), both, []string{Yes, "reused", "2", None}},
		"a hidden identity":    {of(map[string]int{"": 4}, map[string]int{"": 4}), one, []string{Yes, "not reported", "not reported"}},
		"closed connections": {one, &seen{pods: map[string]int{"a": 1}, responses: 1, closed: true},
			[]string{No, "new each time", "1", "one pod"}},
	} {
		for i, f := range decideLoadBalancing(c.each, c.shared) {
			expectValue(t, name, f, c.want[i])
		}
	}
}

func TestDecideLatency(t *testing.T) {
	took := []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	facts := decideLatency("latency", took)
	expectValue(t, "median", facts[0], "2.00ms")
	expectValue(t, "longest", facts[1], "3.00ms")
	expectValue(t, "in time", decideTimeout(time.Second, 30*time.Second, Outcome{Response: &wire.Response{}}), ">30s")
	expectValue(t, "too late", decideTimeout(9900*time.Millisecond, 30*time.Second, refused("504")), "10s")
}

func TestDecideOutlierDetection(t *testing.T) {
	of := func(responses int, pods ...string) *seen {
		s := newSeen()
		s.responses = responses
		for _, pod := range pods {
			s.pods[pod] = 1
		}
		return s
	}
	expectValue(t, "none", decideOutlierDetection(of(10, "a", "b"), of(10, "a", "b")), None)
	expectValue(t, "one", decideOutlierDetection(of(10, "a", "b"), of(10, "a")), "1")
	expectValue(t, "all", decideOutlierDetection(nil, nil), "all")
	expectValue(t, "pages of a proxy", decideOutlierDetection(of(5, "a"), of(10, "a")), "some responses")
}

func TestDecideTrust(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	leaf, _ := echotest.SelfSigned(t, "a.example", now.Add(49*time.Hour))
	trusted := x509.NewCertPool()
	trusted.AddCert(leaf)
	for name, c := range map[string]struct {
		roots *x509.CertPool
		host  string
		now   time.Time
		want  []string // trust, name, chain, daysLeft
	}{
		"trusted":      {trusted, "a.example", now, []string{Yes, Kept, "1", "2"}},
		"unknown":      {x509.NewCertPool(), "a.example", now, []string{"no: unknown authority", Kept, "1", "2"}},
		"another name": {trusted, "b.example", now, []string{Yes, "another", "1", "2"}},
		"expired":      {trusted, "a.example", now.Add(50 * time.Hour), []string{"no: not currently valid", Kept, "1", "-1"}},
	} {
		for i, f := range decideTrust([]*x509.Certificate{leaf}, c.host, c.roots, c.now) {
			expectValue(t, name, f, c.want[i])
		}
	}
	pool, err := wire.Roots(nil)
	if err != nil || pool.Equal(x509.NewCertPool()) {
		t.Errorf("the roots are %v, %v", pool, err)
	}
}

func TestDecideEnd(t *testing.T) {
	by := func(version string) *wire.Description {
		e := &wire.Description{}
		if version != "" {
			e.TLS = &struct{ Version, ServerName, CipherSuite string }{Version: version}
		}
		return e
	}
	expectValue(t, "not known", decideEnd(by("TLSv1.3"), nil, 0), "both or Echo")
	expectValue(t, "not reported", decideEnd(nil, nil, 0), "not reported")
}

func TestDecideStream(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		arrivals     []time.Duration
		events, gRPC string
	}{
		"nothing":        {nil, "buffered", No},
		"one":            {[]time.Duration{0}, "buffered", No},
		"all at once":    {[]time.Duration{2 * s, 2 * s, 2 * s}, "buffered", "buffered"},
		"one by one":     {[]time.Duration{0, s, 2 * s}, "streamed", "streamed"},
		"one, then both": {[]time.Duration{0, 2 * s, 2 * s}, "streamed", "streamed"},
	} {
		expectValue(t, name, decideEvents(c.arrivals), c.events)
		expectValue(t, name, decideStream(c.arrivals), c.gRPC)
	}
}

func TestDecideUnary(t *testing.T) {
	calls := &wire.Response{Proven: true, Header: http.Header{"Content-Type": {grpcType}}, Body: []byte("pathcheck"), Trailers: http.Header{}}
	expectValue(t, "no trailers", decideUnary(calls, nil), "no trailers")
	calls.Trailers.Set("Grpc-Status", "2")
	expectValue(t, "another status", decideUnary(calls, nil), Changed)
	calls.Trailers.Set("Grpc-Status", "0")
	expectValue(t, "a call", decideUnary(calls, nil), Yes)
}
