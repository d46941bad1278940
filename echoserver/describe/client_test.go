package describe

import (
	"testing"
)

func TestClientAddress(t *testing.T) {
	const peer = "10.0.0.9:4711"
	for name, c := range map[string]struct {
		trusted string
		remote  string
		chain   []string
		want    string
	}{
		"no one trusted":          {"", peer, []string{"203.0.113.7"}, "10.0.0.9"},
		"no chain":                {"10.0.0.0/8", peer, nil, "10.0.0.9"},
		"the peer is not trusted": {"192.168.0.0/16", peer, []string{"203.0.113.7"}, "10.0.0.9"},
		"one proxy":               {"10.0.0.0/8", peer, []string{"203.0.113.7"}, "203.0.113.7"},
		"a single address":        {"10.0.0.9", peer, []string{"203.0.113.7"}, "203.0.113.7"},
		"what a client made up":   {"10.0.0.0/8", peer, []string{"1.1.1.1", "203.0.113.7"}, "203.0.113.7"},
		"two proxies":             {"10.0.0.0/8", peer, []string{"203.0.113.7", "10.1.1.1"}, "203.0.113.7"},
		"two proxies of two ranges": {"10.0.0.0/8, 192.0.2.0/24", peer, []string{"1.1.1.1", "203.0.113.7", "192.0.2.1"},
			"203.0.113.7"},
		"a stranger between proxies":           {"10.0.0.0/8", peer, []string{"10.2.2.2", "203.0.113.7", "10.1.1.1"}, "203.0.113.7"},
		"all trusted":                          {"0.0.0.0/0,::/0", peer, []string{"1.1.1.1", "203.0.113.7"}, "1.1.1.1"},
		"all in the chain trusted":             {"10.0.0.0/8", peer, []string{"10.3.3.3", "10.1.1.1"}, "10.3.3.3"},
		"with a port":                          {"10.0.0.0/8", peer, []string{"203.0.113.7:1234"}, "203.0.113.7"},
		"IPv6":                                 {"fd00::/8", "[fd00::1]:80", []string{"2001:db8::7"}, "2001:db8::7"},
		"IPv6 with brackets":                   {"fd00::/8", "[fd00::1]:80", []string{"[2001:db8::7]"}, "2001:db8::7"},
		"IPv6 with a port":                     {"fd00::/8", "[fd00::1]:80", []string{"[2001:db8::7]:99"}, "2001:db8::7"},
		"IPv6 with a zone":                     {"fe80::/10", "[fe80::1%eth0]:80", []string{"203.0.113.7"}, "203.0.113.7"},
		"IPv4 on an IPv6 socket":               {"10.0.0.0/8", "[::ffff:10.0.0.9]:80", []string{"203.0.113.7"}, "203.0.113.7"},
		"a range with host bits":               {"10.1.2.3/8", peer, []string{"203.0.113.7"}, "203.0.113.7"},
		"IPv6 is not in all of IPv4":           {"0.0.0.0/0", "[2001:db8::1]:80", []string{"203.0.113.7"}, "2001:db8::1"},
		"IPv4 is not in all of IPv6":           {"::/0", peer, []string{"203.0.113.7"}, "10.0.0.9"},
		"a mapped address as a proxy":          {"::ffff:10.0.0.9", peer, []string{"203.0.113.7"}, "203.0.113.7"},
		"a zone of a proxy is ignored":         {"fe80::1%eth0", "[fe80::1]:80", []string{"203.0.113.7"}, "203.0.113.7"},
		"the ends of a range of IPv4":          {"10.1.0.0/16", "10.1.0.0:1", []string{"203.0.113.7", "10.1.255.255"}, "203.0.113.7"},
		"the end of a range of IPv6":           {"fd00::/32", "[fd00:0:ffff:ffff:ffff:ffff:ffff:ffff]:1", []string{"10.0.0.9"}, "10.0.0.9"},
		"a trusted proxy hides it":             {"10.0.0.0/8", peer, []string{"unknown"}, ""},
		"an obfuscated name":                   {"10.0.0.0/8", peer, []string{"_hidden"}, ""},
		"nonsense beyond a stranger is naught": {"10.0.0.0/8", peer, []string{"nonsense", "203.0.113.7"}, "203.0.113.7"},
	} {
		trusted, err := ParseTrustedProxies(c.trusted)
		if err != nil {
			t.Fatal(err)
		}
		if got := firstUntrusted(c.remote, c.chain, trusted); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
