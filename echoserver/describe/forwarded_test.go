package describe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseForwarded(t *testing.T) {
	for text, want := range map[string][]ForwardedPair{
		"": nil,
		"for=192.0.2.60;proto=http;by=203.0.113.43": {{For: "192.0.2.60", Proto: "http", By: "203.0.113.43"}},
		`For="[2001:db8:cafe::17]:4711"`:            {{For: "[2001:db8:cafe::17]:4711"}},
		"for=192.0.2.43, for=198.51.100.17":         {{For: "192.0.2.43"}, {For: "198.51.100.17"}},
		"for=192.0.2.43,FOR=198.51.100.17":          {{For: "192.0.2.43"}, {For: "198.51.100.17"}},
		`for="_gazonk"`:                             {{For: "_gazonk"}},
		`for=unknown;secret=x`:                      {{For: "unknown"}},
		`for=a ; host="x\"y,z;" , for=b`:            {{For: "a", Host: `x"y,z;`}, {For: "b"}},
		"for=192.0.2.1:80":                          {{For: "192.0.2.1:80"}},
		", ,for=a,":                                 {{For: "a"}},
		"for":                                       nil,
		"for=":                                      nil,
		`for="a`:                                    nil,
		`for="a\`:                                   nil,
		`for="a"b`:                                  nil,
		"for=a b":                                   nil,
		"for=a=b":                                   nil,
		"f r=a":                                     nil,
		"for=a,for":                                 nil,
		"for=é":                                     nil,
		"FOR=a;By=b;hOST=c;PROTO=d":                 {{For: "a", By: "b", Host: "c", Proto: "d"}},
		"for=A;proto=HTTPS":                         {{For: "A", Proto: "HTTPS"}},
		"for=a;for=b":                               {{For: "b"}}, // the last of several
		"\tfor=a\t;\tby=b\t,\tfor=c\t":              {{For: "a", By: "b"}, {For: "c"}},
		`for="";by=b`:                               {{By: "b"}},
		"for=[2001:db8::1]:80;by=b":                 {{For: "[2001:db8::1]:80", By: "b"}}, // without quotes
		`for="\a"`:                                  {{For: "a"}},                         // an escape without need
		";;for=a;;by=b;":                            {{For: "a", By: "b"}},
		"for=a;x=y;by=b":                            {{For: "a", By: "b"}},
		"for =a":                                    nil,
		"for= a":                                    nil,
		"for=a/b":                                   nil,
		`for=a"b`:                                   nil,
		"for=a, by":                                 nil,
		"for=a;x=(y)":                               nil, // malformed in a parameter that is not known
	} {
		if diff := cmp.Diff(want, parseForwarded([]string{text})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if got := parseForwarded([]string{"for=a", "for=b"}); len(got) != 2 || got[1].For != "b" {
		t.Errorf("two headers are %+v", got)
	}
}

func TestParseForwardedFor(t *testing.T) {
	got := parseForwardedFor([]string{" a,b ,, c", "", "d"})
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzForwarded checks that what is understood of a Forwarded, written again as it should be, is understood the same.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"for=192.0.2.60;proto=http;by=203.0.113.43", `for="[2001:db8::17]:4711", for=unknown`, `for="a\"b"`, ",;,",
		`host="`} {
		f.Add(seed, "192.0.2.1, [::1]:80")
	}
	f.Fuzz(func(t *testing.T, forwarded, forwardedFor string) {
		chain := parseForwarded([]string{forwarded})
		elements := make([]string, len(chain))
		for i, pair := range chain {
			elements[i] = rewritten(pair)
		}
		if diff := cmp.Diff(chain, parseForwarded([]string{strings.Join(elements, ", ")})); diff != "" {
			t.Errorf("%q as %q (-first +again):\n%s", forwarded, elements, diff)
		}
		for _, node := range parseForwardedFor([]string{forwardedFor}) {
			if node == "" || strings.Contains(node, ",") {
				t.Errorf("%q has the node %q", forwardedFor, node)
			}
			if address, ok := parseNode(node); ok && (!address.IsValid() || address.Is4In6() || address.Zone() != "") {
				t.Errorf("%q is the address %s", node, address)
			}
		}
	})
}

func rewritten(pair ForwardedPair) string {
	var parameters []string
	for name, value := range map[string]string{"for": pair.For, "by": pair.By, "host": pair.Host, "proto": pair.Proto} {
		if value != "" {
			parameters = append(parameters, name+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`)
		}
	}
	return strings.Join(parameters, ";")
}

func TestParseNode(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"IPv4":                         {"192.0.2.1", "192.0.2.1"},
		"IPv4 with a port":             {"192.0.2.1:65535", "192.0.2.1"},
		"IPv6":                         {"2001:db8::1", "2001:db8::1"},
		"IPv6 in its longest form":     {"2001:0DB8:0:0:0:0:0:1", "2001:db8::1"},
		"IPv6 in brackets":             {"[2001:db8::1]", "2001:db8::1"},
		"IPv6 with a port":             {"[2001:db8::1]:80", "2001:db8::1"},
		"IPv6 with a zone":             {"fe80::1%eth0", "fe80::1"},
		"IPv6 with a zone and a port":  {"[fe80::1%eth0]:80", "fe80::1"},
		"IPv4-mapped":                  {"::ffff:192.0.2.1", "192.0.2.1"},
		"IPv4-mapped in brackets":      {"[::ffff:192.0.2.1]", "192.0.2.1"},
		"IPv4-mapped with a port":      {"[::ffff:192.0.2.1]:80", "192.0.2.1"},
		"no address":                   {"", ""},
		"an unknown one":               {"unknown", ""},
		"an obfuscated one":            {"_hidden", ""},
		"a host name":                  {"localhost", ""},
		"a host name with a port":      {"localhost:80", ""},
		"a port alone":                 {":80", ""},
		"a port that is too high":      {"192.0.2.1:65536", ""},
		"a CIDR":                       {"192.0.2.0/24", ""},
		"a space":                      {"192.0.2.1 ", ""},
		"something after the brackets": {"[2001:db8::1]x", ""},
		"empty brackets":               {"[]", ""},
	} {
		address, ok := parseNode(c.text)
		if ok != (c.want != "") || ok && address.String() != c.want {
			t.Errorf("%s: %q is %s, %t, want %q", name, c.text, address, ok, c.want)
		}
	}
}
