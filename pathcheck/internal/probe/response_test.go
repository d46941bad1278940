package probe

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"github.com/echo-operator/echo-operator/internal/proof"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

func TestExamineLatency(t *testing.T) {
	g := &Group{Known: &Known{Samples: []*wire.Response{{Took: 3 * time.Millisecond}, {Took: time.Millisecond}, {Took: 2 * time.Millisecond}}}}
	if err := ExamineLatency(t.Context(), g); err != nil || len(g.Facts) != 2 {
		t.Fatalf("%+v, %v", g.Facts, err)
	}
	for _, each := range g.Facts {
		expectValue(t, each.Name, each, map[string]string{"latency.p50": "2.00ms", "latency.p99": "3.00ms"}[each.Name])
	}
}

func TestDecideResponseHeaders(t *testing.T) {
	signed := map[string]string{"Vary": proof.FieldDigest([]string{"Accept"}), "Retry-After": proof.FieldDigest([]string{"7"})}
	for name, c := range map[string]struct {
		header http.Header
		want   []string // removed, added, changed
	}{
		"all arrive": {http.Header{"Vary": {"Accept"}, "Retry-After": {"7"}, "Date": {"a"}}, []string{None, None, None}},
		"removed":    {http.Header{"Vary": {"Accept"}}, []string{"Retry-After", None, None}},
		"changed":    {http.Header{"Vary": {"Accept", "Cookie"}, "Retry-After": {"7"}}, []string{None, None, "Vary"}},
		"added":      {http.Header{"Vary": {"Accept"}, "Retry-After": {"7"}, "Via": {"a"}}, []string{None, "Via", None}},
	} {
		for i, f := range decideResponseHeaders(signed, c.header) {
			expectValue(t, name, f, c.want[i])
		}
	}
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
	expectText(t, "the same connection", valueOf(decideEnd(by("TLSv1.3"), by("TLSv1.2"), tls.VersionTLS12)), "Echo")
	expectText(t, "another connection", valueOf(decideEnd(by("TLSv1.3"), by("TLSv1.3"), tls.VersionTLS12)), "both")
}

func TestDecideArrivals(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		arrivals []time.Duration
		want     string
	}{
		"nothing":        {nil, "buffered"},
		"one":            {[]time.Duration{0}, "buffered"},
		"all at once":    {[]time.Duration{2 * s, 2 * s, 2 * s}, "buffered"},
		"one by one":     {[]time.Duration{0, s, 2 * s}, "streamed"},
		"one, then both": {[]time.Duration{0, 2 * s, 2 * s}, "streamed"},
	} {
		expectText(t, name, valueOf(decideArrivals(c.arrivals, "", events)), c.want)
	}
}

func TestDecideUnary(t *testing.T) {
	call := Outcome{Response: &wire.Response{Header: http.Header{"Content-Type": {grpcType}}, Body: []byte("pathcheck"), Trailers: http.Header{}}}
	expectText(t, "no trailers", valueOf(decideUnary(call)), "no trailers")
	call.Trailers.Set("Grpc-Status", "2")
	expectText(t, "another status", valueOf(decideUnary(call)), Changed)
	call.Trailers.Set("Grpc-Status", "8")
	expectText(t, "no memory", valueOf(decideUnary(call)), "")
	call.Trailers.Set("Grpc-Status", "0")
	expectText(t, "a call", valueOf(decideUnary(call)), Yes)
}
