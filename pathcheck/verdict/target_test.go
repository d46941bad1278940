package verdict

import (
	"strings"
	"testing"
)

func TestParseURL_asciiName(t *testing.T) {
	for text, want := range map[string]string{
		"https://b\u00fccher.example:8443/a":      "https://xn--bcher-kva.example:8443/a",
		"http://B\u00dcCHER.example":              "http://xn--bcher-kva.example",
		"http://b%C3%BCcher.example":              "http://xn--bcher-kva.example",
		"http://b\u00fccher\u3002example/a\u005f": "http://xn--bcher-kva.example/a_",
		"http://a_b.EXAMPLE/":                     "http://a_b.EXAMPLE/",
		"http://[2001:db8::1]:80/":                "http://[2001:db8::1]:80/",
		"http://[fe80::1%25eth0]/":                "http://[fe80::1%25eth0]/",
	} {
		if u, err := ParseURL(text); err != nil || u.String() != want {
			t.Errorf("%s is %v, %v, want %s", text, u, err, want)
		}
	}
	for _, text := range []string{"http://a\uff0fb.example", "http://\u00fc_b.example",
		"http://xn--\u00fc.example", "http://[fe80::1%25\u00fc]/"} {
		if u, err := ParseURL(text); err == nil {
			t.Errorf("%q is %v", text, u)
		}
	}
}

func TestParseAddress_asciiName(t *testing.T) {
	for text, want := range map[string]string{
		"b\u00fccher.example": "xn--bcher-kva.example:80", "b\u00fccher.example:81": "xn--bcher-kva.example:81",
		"a_b": "a_b:80", "[::1]": "[::1]:80",
	} {
		if got, err := ParseAddress(text, "80"); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
	if got, err := ParseAddress("a\uff0fb", "80"); err == nil {
		t.Errorf("a name with a slash is %s", got)
	}
}

// TestParseURL_errorsHaveNoSecrets checks invalid URLs, and passwords with each of the characters that delimit parts of a URL.
func TestParseURL_errorsHaveNoSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"https://hunter2:hunter2@a/b":          "https://[hidden]@a/b",
		"https://a/b?token=hunter2":            "https://a/b?[hidden]",
		"https://a/b#hunter2":                  "https://a/b#[hidden]",
		"https://a/?mail=hunter2@a&hunter2":    "https://[hidden]",
		"https://hunter2:hunter2@a/b?hunter2":  "https://[hidden]@a/b",
		"ftp://hunter2@a/?hunter2#hunter2":     "ftp://[hidden]@a/",
		"https://hunter2:hunter2\n@a/?hunter2": "https://[hidden]@a/",
		"https://x:hunter2/hunter2@a/":         "https://[hidden]@a/",
		"https://x:hunter2?hunter2@a/":         "https://[hidden]",
		"https://x:hunter2#hunter2@a/":         "https://[hidden]",
		"https://x:hunter2@hunter2@a:b/":       "https://[hidden]@a:b/",
		"https://a/%zz?hunter2":                "https://a/%zz?[hidden]",
		"hunter2:hunter2@a/?hunter2":           "[hidden]@a/",
		"a?hunter2://hunter2":                  "a?[hidden]",
	} {
		_, err := ParseURL(text)
		if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), `"`+want+`" is not a URL`) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if _, err := ParseAddress(text, "80"); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the address %q: %v", text, err)
		}
	}
}
