package wire

import (
	"testing"
)

func TestParseTarget(t *testing.T) {
	for _, c := range []struct{ url, address, dial, host, base string }{
		{"http://a", "", "a:80", "a", ""}, {"https://a/shop/", "", "a:443", "a", "/shop"},
		{"http://[::1]:8080/", "", "[::1]:8080", "[::1]:8080", ""},
		{"http://a:81/b", "10.0.0.1", "10.0.0.1:81", "a:81", "/b"}, {"https://a", "10.0.0.1:444", "10.0.0.1:444", "a", ""},
		{"https://a", "::1", "[::1]:443", "a", ""},
		{"http://a:/", "b.example:81", "b.example:81", "a", ""}, {"http://a", "[fe80::1%lo]:81", "[fe80::1%lo]:81", "a", ""},
		{"http://a", "[::1]", "[::1]:80", "a", ""},
		{"http://[fe80::1%25lo]:81/a", "", "[fe80::1%lo]:81", "[fe80::1]:81", "/a"},
	} {
		got, err := ParseTarget(c.url, c.address)
		if err != nil || got.Dial != c.dial || got.Host != c.host || got.Base != c.base {
			t.Errorf("%s at %q: %+v, %v", c.url, c.address, got, err)
		}
	}
	for _, address := range []string{":8080", "1.2.3.4:", "https://b", "b/c", "b:c", "b:0", "b:70000", "[::1]:", "a b"} {
		if got, err := ParseTarget("http://a", address); err == nil {
			t.Errorf("%q is parsed as %+v", address, got)
		}
	}
	for _, url := range []string{"", "a", "ftp://a", "http://", "http://a/?b", "http://a/#b", "http://u:p@a/", "http://a/../b",
		"http://a/b/..", "http://a/%2e%2e/", "http://a b/"} {
		if got, err := ParseTarget(url, ""); err == nil {
			t.Errorf("%q is parsed as %+v", url, got)
		}
	}
}
