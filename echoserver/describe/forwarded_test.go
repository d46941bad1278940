package describe

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseForwarded(t *testing.T) {
	for text, want := range map[string][]ForwardedPair{
		"": nil,
		"for=192.0.2.60;proto=http;by=203.0.113.43":     {{For: "192.0.2.60", Proto: "http", By: "203.0.113.43"}},
		`for=_SEVKISEK, for=_hidden;by=_mdn`:            {{For: "_SEVKISEK"}, {For: "_hidden", By: "_mdn"}},
		`for=unknown;secret=x`:                          {{For: "unknown"}},
		`for=_a ; host="x\y:80" , for=_b`:               {{For: "_a", Host: `xy:80`}, {For: "_b"}},
		", ,for=_a,":                                    {{For: "_a"}},
		`for="_a`:                                       nil,
		`for="_a\`:                                      nil,
		`for="_a"b`:                                     nil,
		"for=_a b":                                      nil,
		"for=é":                                         nil,
		"\tfor=_a\t;\tby=_b\t,\tfor=_c\t":               {{For: "_a", By: "_b"}, {For: "_c"}},
		`for="_\a"`:                                     {{For: "_a"}}, // an unnecessary escape
		";;for=_a;;by=_b;":                              {{For: "_a", By: "_b"}},
		"for=_a;x=y;by=_b":                              {{For: "_a", By: "_b"}},
		"for=_a;x=(y)":                                  nil,                      // the value of an unknown parameter is malformed
		"for=198.51.100.2, for: 198.51.100.3":           nil,                      // a colon instead of the equals sign
		"192.0.2.15, for=198.51.100.2":                  nil,                      // an address without a name
		"for=192.0.2.1, x=y":                            {{For: "192.0.2.1"}, {}}, // the proxy that wrote the last element hides its client
		"for=_a" + distinctParameters(15):               {{For: "_a"}},
		"for=_a" + distinctParameters(16):               nil,
		strings.Repeat("for=_a,", maxChain) + "for=_a":  nil,
		strings.Repeat("for=_a,", maxChain-1) + ",for=": nil,
	} {
		if diff := cmp.Diff(want, parseForwarded([]string{text})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if got := parseForwarded([]string{"for=_a", "for=_b"}); len(got) != 2 || got[1].For != "_b" {
		t.Errorf("two headers are %+v", got)
	}
}

// distinctParameters returns distinct parameters that no proxy writes.
func distinctParameters(number int) string {
	var text strings.Builder
	for i := range number {
		text.WriteString(";x" + strconv.Itoa(i) + "=1")
	}
	return text.String()
}

// TestParseForwarded_rules checks elements that proxies write or other implementations reject, against RFC 7239, 4 to 6.
func TestParseForwarded_rules(t *testing.T) {
	for element, valid := range map[string]bool{
		// each parameter at most once, regardless of case (4)
		"for=1.1.1.1;for=2.2.2.2": false, "for=1.1.1.1;for=1.1.1.1": false, "For=1.1.1.1;fOR=2.2.2.2": false,
		"proto=http;proto=https": false, "by=_a;host=h;by=_b": false, "host=a;for=_x;Host=b": false,
		"for=_a;ext=1;EXT=2": false, `for="_a";for=unknown`: false, "for=1.1.1.1;;for=2.2.2.2": false,
		"for=1.1.1.1, for=1.1.1.1": true, "for=_a;by=_a": true,

		// quoted, if the value is not a token (4)
		"for=192.0.2.1:80": false, `for="192.0.2.1:80"`: true, "for=[2001:db8::1]": false, `for="[2001:db8::1]"`: true,
		"for=[2001:db8::1]:80": false, "host=localhost:8080": false, `host="localhost:8080"`: true, `for="192.0.2.1"`: true,
		`proto="https"`: true, `x="a, b; c=d"`: true, "x=a/b": false,

		// IPv6 in brackets (6)
		`for="2001:db8::1"`: false, "for=2001:861:3a42:b7b0:9971:120a:391f:f585": false, `for="2001:db8::1:8080"`: false,
		`for="[2001:db8:cafe::17"`: false, `for="2001:db8::1]"`: false, `for="[]"`: false, `for="[192.0.2.1]"`: false,
		`for="[::ffff:192.0.2.1]"`: true, `for="[2001:DB8::1]"`: true, `for="[fe80::1%eth0]"`: false, `for="[v1.a]"`: false,
		`for="[[::1]]"`: false, `for="[::1]80"`: false, `by="[::1]"`: true, "by=[::1]": false,

		// IPv4 (RFC 3986, 3.2.2)
		"for=010.0.0.1": false, "for=256.0.0.1": false, "for=192.0.2": false, "for=0xC0000201": false, "for=192.0.2.0/24": false,

		// ports (6)
		`for="192.0.2.1:0"`: true, `for="192.0.2.1:65535"`: true, `for="192.0.2.1:"`: false, `for="192.0.2.1:123456"`: false,
		`for="192.0.2.1:+80"`: false, `for="192.0.2.1:http"`: false, `for="192.0.2.1:_http"`: true, `for="[2001:db8::1]:_"`: false,
		`for="unknown:80"`: true, `for="_a:_b"`: true, `for="_a:b"`: false, `for=":80"`: false,

		// "unknown" (6.2) and obfuscated identifiers (6.3)
		"for=unknown": true, "for=UNKNOWN": true, "for=unknowns": false, "for=_": false, "for=_.-_": true, `for="_a b"`: false, "for=_a!b": false,
		"for=hidden": false, "for=-": false, `for=""`: false, "for=localhost": false, "for=proxy.example.com": false, "for=_é": false,

		// host (5.3) and proto (5.4)
		`host=""`: true, "host=example.com": true, `host="[2001:db8::1]:8443"`: true, `host="a b"`: false, `host="a/b"`: false,
		`host="a@b"`: false, `host="a:b"`: false, `host="é.example"`: false, `host="[::1"`: false,
		"proto=http": true, "proto=WSS": true, "proto=coap+tcp": true, "proto=a.b-c": true, "proto=1http": false, `proto=""`: false,
		`proto="http:"`: false, "proto=ht_tp": false, `proto="https, http"`: false,
	} {
		if got := parseForwarded([]string{element}); (got != nil) != valid {
			t.Errorf("%s is parsed as %+v, want it to be valid: %t", element, got, valid)
		}
	}
}

func TestParseForwardedFor(t *testing.T) {
	got := parseForwardedFor([]string{" a,b ,, c", "", "d"})
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzForwarded writes a parsed Forwarded header in the standard form, and checks that parsing it again gives the same result.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"for=1.1.1.1;for=2.2.2.2", `by="_a:_b";x=y, x=y;host=""`, "for=192.0.2.60;proto=http;by=203.0.113.43", `for="[2001:db8::17]:4711", for=unknown`, `for="a\"b"`, ",;,",
		`host="`} {
		f.Add(seed, "192.0.2.1, [::1]:80")
	}
	f.Fuzz(func(t *testing.T, forwarded, forwardedFor string) {
		chain := parseForwarded([]string{forwarded})
		elements := make([]string, len(chain))
		for i, pair := range chain {
			elements[i] = rewritten(pair)
			if twice := elements[i] + ";" + elements[i]; parseForwarded([]string{twice}) != nil {
				t.Errorf("%q is valid, though it has a parameter twice", twice)
			}
			for _, node := range []string{pair.For, pair.By} {
				if node != "" && !isNode(node) {
					t.Errorf("%q has the node %q", forwarded, node)
				}
			}
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
	if len(parameters) == 0 {
		return "unknown=parameter"
	}
	return strings.Join(parameters, ";")
}

func TestParseNode(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"IPv4 with a port":             {"192.0.2.1:65535", "192.0.2.1"},
		"IPv4 with a hidden port":      {"192.0.2.1:_http", "192.0.2.1"},
		"IPv6 with a hidden port":      {"[2001:db8::1]:_http", "2001:db8::1"},
		"IPv6 with a zone":             {"fe80::1%eth0", "fe80::1"},
		"IPv6 in brackets":             {"[2001:db8::1]", "2001:db8::1"},
		"IPv6 with a port":             {"[2001:db8::1]:80", "2001:db8::1"},
		"IPv6 with a zone and a port":  {"[fe80::1%eth0]:80", "fe80::1"},
		"IPv4-mapped with a port":      {"[::ffff:192.0.2.1]:80", "192.0.2.1"},
		"an unknown one":               {"unknown", ""},
		"an obfuscated one":            {"_hidden", ""},
		"a host name":                  {"localhost", ""},
		"a port that is too high":      {"192.0.2.1:65536", ""},
		"something after the brackets": {"[2001:db8::1]x", ""},
	} {
		address, ok := parseNode(c.text)
		if ok != (c.want != "") || ok && address.String() != c.want {
			t.Errorf("%s: %q is %s, %t, want %q", name, c.text, address, ok, c.want)
		}
	}
}
