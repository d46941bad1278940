package pathcheck

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDecideRetries(t *testing.T) {
	pods := podCounts{}
	a, b := &echo{Pod: "a"}, &echo{Pod: "b"}
	pods.add(a, 2, true)  // the second attempt at a
	pods.add(a, 3, false) // a question
	pods.add(b, 2, false) // one attempt at b, and a question
	pods.add(b, 3, false)
	if pods.total() != 3 {
		t.Errorf("%v are %d attempts", pods, pods.total())
	}
	expectValue(t, "two retries", decideRetries("retries.get", "GET", "503", 3), "2")
	expectValue(t, "none", decideRetries("retries.get", "GET", "503", 1), "0")
	expectValue(t, "no answer", decideRetries("retries.get", "GET", "503", 0), "not told")
}

func TestDecideSpread(t *testing.T) {
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
		"one pod":              {one, one, []string{yes, "new each time", "1", "one pod"}},
		"two pods":             {both, both, []string{yes, "new each time", "2", none}},
		"one for a connection": {both, one, []string{yes, "new each time", "2", "connection"}},
		"a cookie":             {of(both.pods, own, "route"), both, []string{yes, "new each time", "2", "cookie"}},
		"connections in a row": {of(both.pods, map[string]int{"1": 4}), both, []string{yes, "reused", "2", none}},
		"a hidden identity":    {of(map[string]int{"": 4}, map[string]int{"": 4}), one, []string{yes, "not told", "not told"}},
		"closed connections":   {one, &seen{pods: map[string]int{"a": 1}, responses: 1, closed: true}, []string{no, "new each time", "1", "one pod"}},
	} {
		for i, f := range decideSpread(c.each, c.shared) {
			expectValue(t, name, f, c.want[i])
		}
	}
}

func TestDecideLatency(t *testing.T) {
	took := []time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}
	facts := decideLatency("latency", "", took)
	expectValue(t, "median", facts[0], "2.00ms")
	expectValue(t, "longest", facts[1], "3.00ms")
	expectValue(t, "in time", decideTimeout(time.Second, 30*time.Second, outcome{answer: &answer{}}), ">30s")
	expectValue(t, "too late", decideTimeout(9900*time.Millisecond, 30*time.Second, refused("504")), "10s")
}

func TestDecideEjection(t *testing.T) {
	of := func(responses int, pods ...string) *seen {
		s := newSeen()
		s.responses = responses
		for _, pod := range pods {
			s.pods[pod] = 1
		}
		return s
	}
	expectValue(t, "none", decideEjection(of(10, "a", "b"), of(10, "a", "b")), none)
	expectValue(t, "one", decideEjection(of(10, "a", "b"), of(10, "a")), "1")
	expectValue(t, "all", decideEjection(nil, nil), "all")
	expectValue(t, "pages of the way", decideEjection(of(5, "a"), of(10, "a")), "some responses")
}

// signed returns a certificate that is signed by itself, and its key.
func signed(t *testing.T, name string, until time.Time) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: time.Unix(0, 0),
		NotAfter: until, IsCA: true, BasicConstraintsValid: true}
	data, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(data)
	if err != nil {
		t.Fatal(err)
	}
	return parsed, key
}

func TestDecideTrust(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	leaf, _ := signed(t, "a.example", now.Add(49*time.Hour))
	trusted := x509.NewCertPool()
	trusted.AddCert(leaf)
	for name, c := range map[string]struct {
		roots *x509.CertPool
		host  string
		now   time.Time
		want  []string // trust, name, chain, daysLeft
	}{
		"trusted":      {trusted, "a.example", now, []string{yes, kept, "1", "2"}},
		"unknown":      {x509.NewCertPool(), "a.example", now, []string{"no: unknown authority", kept, "1", "2"}},
		"another name": {trusted, "b.example", now, []string{yes, "another", "1", "2"}},
		"expired":      {trusted, "a.example", now.Add(50 * time.Hour), []string{"no: not valid now", kept, "1", "-1"}},
	} {
		for i, f := range decideTrust([]*x509.Certificate{leaf}, c.host, c.roots, c.now) {
			expectValue(t, name, f, c.want[i])
		}
	}
	pool, err := roots(nil)
	if err != nil || pool.Equal(x509.NewCertPool()) {
		t.Errorf("the roots are %v, %v", pool, err)
	}
}

func TestDecideEnd(t *testing.T) {
	by := func(version string) *echo {
		e := &echo{}
		if version != "" {
			e.TLS = &struct{ Version, ServerName, CipherSuite string }{Version: version}
		}
		return e
	}
	expectValue(t, "no TLS behind", decideEnd(by(""), nil, 0), "way")
	expectValue(t, "passed through", decideEnd(by("TLSv1.3"), by("TLSv1.2"), 0x303), "Echo")
	expectValue(t, "encrypted again", decideEnd(by("TLSv1.3"), by("TLSv1.3"), 0x303), "both")
	expectValue(t, "not known", decideEnd(by("TLSv1.3"), nil, 0), "both or Echo")
	expectValue(t, "not told", decideEnd(nil, nil, 0), "not told")
}

func TestFactsAreBounded(t *testing.T) {
	f := newFact("a", strings.Repeat("v", 1000)+"\n", "\x1b[31m"+strings.Repeat("s", 10_000), "\u202e<b>", "m")
	if len(f.Value) > maxValue || len(f.Sent) > maxText || strings.ContainsAny(f.Sent+f.Received+f.Value, "\x1b\n\u202e") {
		t.Errorf("the fact is %+v", f)
	}
	other := newFact("a", strings.Repeat("v", 1001)+"\n", "", "", "m")
	if f.Value == other.Value {
		t.Error("two long values cannot be told apart")
	}
	if got := listed(slices.Repeat([]string{"b", "a"}, 3)); got != "a,b" {
		t.Errorf("the list is %q", got)
	}
}

func TestExpectations(t *testing.T) {
	for text, c := range map[string]struct {
		value string
		want  bool
	}{
		"a=kept": {kept, true}, "a=no": {yes, false}, "a=>=10Mi": {"16Mi", true}, "a=>=11Mi ": {"10Mi", false}, "a=>=14": {"14", true}, "a=<=3": {"4", false},
		"a=<=4": {"4", true}, "a=>=1": {"many", false}, "a=>=3000000000": {"4000000000", true}, "a=>30s": {">30s", true}, "a=>=512Ki": {"1Mi", true}, "a=refused 405": {"refused 405", true},
		"a=<=50ms": {"12.34ms", true}, "a=<=9ms": {"12.34ms", false}, "a=>=30s": {">30s", true}, "a=<=30s": {">30s", false}, "a=>=1s": {"5", false}, "a=<=5": {"1s", false},
	} {
		e, err := ParseExpectation(text)
		got := e.judge(&Report{Facts: []Fact{{Name: "a", Value: c.value}}})
		if err != nil || got.OK != c.want || got.Got != c.value {
			t.Errorf("%s for %s: %+v, %v", text, c.value, got, err)
		}
	}
	for _, text := range []string{"", "a", "a=", "=b", "a b=c", "a=>=many", "a=<=", "a=>10Mi", "a=< 3", "a=>=10MiKi", "a=>=10sKi", "a=<=many s", "a=>=99999999999"} {
		if e, err := ParseExpectation(text); err == nil {
			t.Errorf("%q is taken for %v", text, e)
		}
	}
	if got := (Expectation{"b", kept}).judge(&Report{}); got.OK || got.Got != "" {
		t.Errorf("a fact that is not known: %+v", got)
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct{ url, address, dial, host, base string }{
		{"http://a", "", "a:80", "a", ""}, {"https://a/shop/", "", "a:443", "a", "/shop"}, {"http://[::1]:8080/", "", "[::1]:8080", "[::1]:8080", ""},
		{"http://a:81/b", "10.0.0.1", "10.0.0.1:81", "a:81", "/b"}, {"https://a", "10.0.0.1:444", "10.0.0.1:444", "a", ""}, {"https://a", "::1", "[::1]:443", "a", ""},
		{"http://a:/", "b.example:81", "b.example:81", "a", ""}, {"http://a", "[fe80::1%lo]:81", "[fe80::1%lo]:81", "a", ""}, {"http://a", "[::1]", "[::1]:80", "a", ""},
		{"http://[fe80::1%25lo]:81/a", "", "[fe80::1%lo]:81", "[fe80::1]:81", "/a"},
	} {
		got, err := parseTarget(c.url, c.address)
		if err != nil || got.dial != c.dial || got.host != c.host || got.base != c.base {
			t.Errorf("%s at %q: %+v, %v", c.url, c.address, got, err)
		}
	}
	for _, address := range []string{":8080", "1.2.3.4:", "https://b", "b/c", "b:c", "b:0", "b:70000", "[::1]:", "a b"} {
		if got, err := parseTarget("http://a", address); err == nil {
			t.Errorf("%q is taken for %+v", address, got)
		}
	}
	for _, url := range []string{"", "a", "ftp://a", "http://", "http://a/?b", "http://a/#b", "http://u:p@a/", "http://a/../b", "http://a/b/..", "http://a/%2e%2e/", "http://a b/"} {
		if got, err := parseTarget(url, ""); err == nil {
			t.Errorf("%q is taken for %+v", url, got)
		}
	}
}
