package describe

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		"what a client made up":   {"10.0.0.0/8", peer, []string{"1.1.1.1", "203.0.113.7"}, "203.0.113.7"},
		"two proxies of two ranges": {"10.0.0.0/8, 192.0.2.0/24", peer, []string{"1.1.1.1", "203.0.113.7", "192.0.2.1"},
			"203.0.113.7"},
		"a stranger between proxies":           {"10.0.0.0/8", peer, []string{"10.2.2.2", "203.0.113.7", "10.1.1.1"}, "203.0.113.7"},
		"all trusted":                          {"0.0.0.0/0,::/0", peer, []string{"1.1.1.1", "203.0.113.7"}, "1.1.1.1"},
		"IPv6 with a zone":                     {"fe80::/10", "[fe80::1%eth0]:80", []string{"203.0.113.7"}, "203.0.113.7"},
		"IPv4 on an IPv6 socket":               {"10.0.0.0/8", "[::ffff:10.0.0.9]:80", []string{"203.0.113.7"}, "203.0.113.7"},
		"IPv6 is not in all of IPv4":           {"0.0.0.0/0", "[2001:db8::1]:80", []string{"203.0.113.7"}, "2001:db8::1"},
		"IPv4 is not in all of IPv6":           {"::/0", peer, []string{"203.0.113.7"}, "10.0.0.9"},
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

// TestIdentify gives each variable a distinct value, and adds variables that a bug might expose.
func TestIdentify(t *testing.T) {
	got := Identify(map[string]string{"ECHO_POD_NAMESPACE": "a namespace", "ECHO_INGRESS_NAME": "an ingress", "ECHO_SERVICE_NAME": "a service",
		"ECHO_POD_NAME": "a pod", "ECHO_NODE_NAME": "a node", "ECHO_POD_IP": "a pod IP", "ECHO_HOST_IP": "a host IP",
		"ECHO_INFO_COLOR": "blue", "ECHO_INFO_region": "", "ECHO_INFO_ECHO_INFO_A": "a",
		"echo_info_A": "x", "MY_ECHO_INFO_A": "x", "ECHO_INFO": "x", "ECHO_INF_O": "x", "PATH": "x", "POD_NAME": "x", "POD_NAMESPACE": "x",
		"SERVICE_NAME": "x", "ECHO_POD": "x", "echo_pod_name": "x", "": "x"})
	want := Identity{Namespace: "a namespace", Ingress: "an ingress", Service: "a service", Pod: "a pod", Node: "a node", PodIP: "a pod IP",
		HostIP: "a host IP", Info: map[string]string{"COLOR": "blue", "region": "", "ECHO_INFO_A": "a"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseTrustedProxies(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"empty":                         {"", nil},
		"an IPv6 address":               {"2001:db8::1", []string{"2001:db8::1/128"}},
		"an IPv4-mapped IPv6 address":   {"::ffff:10.0.0.1", []string{"10.0.0.1/32"}},
		"a list in order":               {"192.168.0.0/16,10.0.0.1,::1", []string{"192.168.0.0/16", "10.0.0.1/32", "::1/128"}},
		"an IPv4-mapped CIDR":           {"::ffff:10.0.0.0/104", []string{"10.0.0.0/8"}},
		"one IPv4-mapped address":       {"::ffff:a00:1/128", []string{"10.0.0.1/32"}},
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
	for _, text := range []string{"proxy.example", "10.0.0.1:80", "::ffff:10.0.0.0/8", "fe80::%eth0/64"} {
		want := `"` + text + `" is not an address or a CIDR such as 10.0.0.0/8`
		if trusted, err := ParseTrustedProxies("10.0.0.0/8, " + text + " ,::1"); err == nil || err.Error() != want || trusted != nil {
			t.Errorf("%s: got %v and the error %v, want the error %s", text, trusted, err, want)
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
		"an untrusted peer sends Forwarded": {"203.0.113.7:80", http.Header{"Forwarded": {"for=10.0.0.1"}}, "203.0.113.7"},
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

func TestParseTraceparent(t *testing.T) {
	const trace1, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for text, want := range map[string]*Trace{
		"00-" + trace1 + "-" + parent + "-01":                   {Version: "00", TraceID: trace1, ParentID: parent, Sampled: true},
		"00-" + trace1 + "-" + parent + "-02":                   {Version: "00", TraceID: trace1, ParentID: parent},
		"cc-" + trace1 + "-" + parent + "-01-what-comes":        {Version: "cc", TraceID: trace1, ParentID: parent, Sampled: true},
		"00-" + trace1 + "-" + parent + "-01-more":              nil,
		"ff-" + trace1 + "-" + parent + "-01":                   nil,
		"00-00000000000000000000000000000000-" + parent + "-01": nil,
		"00-" + trace1 + "-0000000000000000-01":                 nil,
		"00-0AF7651916CD43DD8448EB211C80319C-" + parent + "-01": nil,
		"00-" + trace1 + "-" + parent:                           nil,
		"":                                                      nil,
	} {
		if diff := cmp.Diff(want, parseTraceparent([]string{text})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if parseTraceparent(nil) != nil ||
		parseTraceparent([]string{"00-" + trace1 + "-" + parent + "-01", "00-" + trace1 + "-" + parent + "-01"}) != nil {
		t.Error("no value or two values are mistaken for one")
	}
}

// TestDescriber_Client checks that without identity, a client's address is shown only if a trusted proxy reports it.
func TestDescriber_Client(t *testing.T) {
	for name, c := range map[string]struct{ trusted, forwarded, want string }{
		"no trusted proxy":             {"", "10.0.0.1", ""},
		"a client of several":          {"192.0.2.1,10.0.0.0/8", "203.0.113.5, 10.0.0.2", "203.0.113.5"},
		"only trusted proxies":         {"192.0.2.1,10.0.0.0/8", "10.0.0.1, 10.0.0.2", ""},
		"a trusted proxy that is mute": {"192.0.2.1", "", ""},
		"a client that is hidden":      {"192.0.2.1", "unknown", ""},
	} {
		trusted, err := ParseTrustedProxies(c.trusted)
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{RemoteAddr: "192.0.2.1:1234", Header: http.Header{"X-Forwarded-For": {c.forwarded}}}
		if got := (&Describer{TrustedProxies: trusted}).Client(r); got.Address != c.want || got.Remote != "" {
			t.Errorf("%s: the client is %+v, want %q", name, got, c.want)
		}
	}
}
