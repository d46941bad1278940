package describe

import (
	"net/http"
	"strings"
	"testing"
)

func TestParseTrustedProxies(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":                         {"", nil},
		"only separators":               {" , ,", nil},
		"an IPv4 address":               {"10.0.0.1", []string{"10.0.0.1/32"}},
		"an IPv6 address":               {"2001:db8::1", []string{"2001:db8::1/128"}},
		"an IPv4-mapped IPv6 address":   {"::ffff:10.0.0.1", []string{"10.0.0.1/32"}},
		"an address with a zone":        {"fe80::1%eth0", []string{"fe80::1/128"}},
		"a list in order":               {"192.168.0.0/16,10.0.0.1,::1", []string{"192.168.0.0/16", "10.0.0.1/32", "::1/128"}},
		"an IPv4-mapped CIDR":           {"::ffff:10.0.0.0/104", []string{"10.0.0.0/8"}},
		"all IPv4-mapped addresses":     {"::ffff:0:0/96", []string{"0.0.0.0/0"}},
		"one IPv4-mapped address":       {"::ffff:a00:1/128", []string{"10.0.0.1/32"}},
		"a CIDR with bits of the host":  {"10.1.2.3/8", []string{"10.1.2.3/8"}},
		"spaces and empty list entries": {" 10.0.0.0/8 ,, ::1 ,", []string{"10.0.0.0/8", "::1/128"}},
	} {
		trusted, err := ParseTrustedProxies(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := make([]string, len(trusted))
		for i, prefix := range trusted {
			got[i] = prefix.String()
		}
		if strings.Join(got, ",") != strings.Join(c.want, ",") {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestParseTrustedProxies_rejectsInvalid(t *testing.T) {
	for name, c := range map[string]struct{ text, refused string }{
		"a host name":                     {"proxy.example", "proxy.example"},
		"an address with a port":          {"10.0.0.1:80", "10.0.0.1:80"},
		"an IPv4 prefix of 33 bits":       {"10.0.0.0/33", "10.0.0.0/33"},
		"a mapped CIDR with too few bits": {"::ffff:10.0.0.0/8", "::ffff:10.0.0.0/8"},
		"a CIDR with a zone":              {"fe80::%eth0/64", "fe80::%eth0/64"},
		"separated by spaces":             {"10.0.0.1 10.0.0.2", "10.0.0.1 10.0.0.2"},
		"the second of a list":            {"10.0.0.0/8, proxy ,::1", "proxy"},
	} {
		trusted, err := ParseTrustedProxies(c.text)
		want := `"` + c.refused + `" is not an address or a CIDR such as 10.0.0.0/8`
		if err == nil || err.Error() != want || trusted != nil {
			t.Errorf("%s: got %v and the error %v, want the error %s", name, trusted, err, want)
		}
	}
}

// TestParseTrustedProxies_acceptsEachSpelling writes the trusted proxy 10.1.2.9 in several forms, and sends a request through the proxy.
func TestParseTrustedProxies_acceptsEachSpelling(t *testing.T) {
	for _, spelling := range []string{"10.1.2.9", "::ffff:10.1.2.9", "10.0.0.0/8", "10.1.2.3/8", "::ffff:10.0.0.0/104", "::ffff:0:0/96",
		" 10.1.2.9/32 ,"} {
		trusted, err := ParseTrustedProxies(spelling)
		if err != nil {
			t.Errorf("%q: %v", spelling, err)
		}
		for _, remote := range []string{"10.1.2.9:80", "[::ffff:10.1.2.9]:80"} {
			r := &http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": {"203.0.113.7"}}}
			if got := describeClient(r, trusted).Address; got != "203.0.113.7" {
				t.Errorf("%q does not match %s: the client is %s", spelling, remote, got)
			}
		}
	}
}

// TestDescribeClient_ignoresSpoofedAddress sends header values that a client could add to hide its own address.
func TestDescribeClient_ignoresSpoofedAddress(t *testing.T) {
	const proxy = "10.0.0.9"
	for name, c := range map[string]struct {
		remote  string
		headers http.Header
		want    string
	}{
		"an untrusted peer claims an address": {"203.0.113.7:80", http.Header{"X-Forwarded-For": {"10.0.0.1"}}, "203.0.113.7"},
		"an untrusted peer sends Forwarded":   {"203.0.113.7:80", http.Header{"Forwarded": {"for=10.0.0.1"}}, "203.0.113.7"},
		"a proxy appends to a header":         {proxy + ":80", http.Header{"X-Forwarded-For": {"10.0.0.1, 203.0.113.7"}}, "203.0.113.7"},
		"a proxy adds a header":               {proxy + ":80", http.Header{"X-Forwarded-For": {"10.0.0.1", "203.0.113.7"}}, "203.0.113.7"},
		"Forwarded next to X-Forwarded-For": {proxy + ":80", http.Header{"X-Forwarded-For": {"203.0.113.7"}, "Forwarded": {"for=1.1.1.1"}},
			"203.0.113.7"},
		"an empty X-Forwarded-For": {proxy + ":80", http.Header{"X-Forwarded-For": {" , "}, "Forwarded": {"for=203.0.113.7"}},
			"203.0.113.7"},
		"an element without an address":        {proxy + ":80", http.Header{"Forwarded": {"for=203.0.113.7, proto=https"}}, ""},
		"an element with an obfuscated name":   {proxy + ":80", http.Header{"Forwarded": {"for=203.0.113.7, for=_name"}}, ""},
		"X-Real-Ip is not evaluated":           {proxy + ":80", http.Header{"X-Real-Ip": {"203.0.113.7"}}, proxy},
		"a malformed Forwarded is not guessed": {proxy + ":80", http.Header{"Forwarded": {"for=203.0.113.7, for="}}, proxy},
	} {
		trusted, err := ParseTrustedProxies("10.0.0.0/8")
		if err != nil {
			t.Fatal(err)
		}
		if got := describeClient(&http.Request{RemoteAddr: c.remote, Header: c.headers}, trusted).Address; got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
