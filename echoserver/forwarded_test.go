package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseForwarded(t *testing.T) {
	for text, want := range map[string][]forwardedPair{
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
	for _, seed := range []string{"for=192.0.2.60;proto=http;by=203.0.113.43", `for="[2001:db8::17]:4711", for=unknown`, `for="a\"b"`, ",;,", `host="`} {
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

func rewritten(pair forwardedPair) string {
	var parameters []string
	for name, value := range map[string]string{"for": pair.For, "by": pair.By, "host": pair.Host, "proto": pair.Proto} {
		if value != "" {
			parameters = append(parameters, name+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)+`"`)
		}
	}
	return strings.Join(parameters, ";")
}
