package certificates

import (
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/tests/support/echotest"
)

// TestParse checks that Parse returns all certificates in a file, or explains why it cannot.
func TestParse(t *testing.T) {
	a, b := echotest.NewAuthority(t, "a").PEM, echotest.NewAuthority(t, "b").PEM
	key := echotest.NewAuthority(t, "c").Issue(t, "leaf").Key
	indented := "  " + strings.ReplaceAll(strings.TrimSpace(b), "\n", "\n  ") + "\n"
	for name, c := range map[string]struct {
		file  string
		count int
		want  string // the error
	}{
		"one":                      {a, 1, ""},
		"several":                  {a + b, 2, ""},
		"text around":              {"subject=a\n" + a + "\nsubject=b\n" + b, 2, ""},
		"CRLF":                     {strings.ReplaceAll(a+b, "\n", "\r\n"), 2, ""},
		"a byte order mark":        {byteOrderMark + a + b, 2, ""},
		"no line end":              {strings.TrimSpace(a), 1, ""},
		"a key between them":       {a + key + b, 2, ""},
		"nothing":                  {"", 0, "it contains no PEM certificate"},
		"a byte order mark alone":  {byteOrderMark, 0, "it contains no PEM certificate"},
		"no PEM":                   {"x", 0, "it contains no PEM certificate"},
		"only a key":               {key, 0, "it contains no PEM certificate"},
		"a truncated block":        {a + b[:len(b)/2], 0, "1 of its 2 blocks are not PEM"},
		"an indented block":        {a + indented, 0, "1 of its 2 blocks are not PEM"},
		"a damaged block":          {a + strings.Replace(b, "MII", "AAA", 1), 0, "block 2 is not a certificate: "},
		"UTF-16":                   {"-\x00-\x00-\x00-\x00-\x00B\x00E\x00G\x00I\x00N\x00", 0, "it contains no PEM certificate"},
		"a certificate of OpenSSL": {a + strings.ReplaceAll(b, " CERTIFICATE", " TRUSTED CERTIFICATE"), 0, "block 2 is a TRUSTED CERTIFICATE"},
	} {
		all, err := Parse([]byte(c.file))
		if len(all) != c.count || (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %d certificates, %v; want %d, %q", name, len(all), err, c.count, c.want)
		}
		if pool, poolErr := Pool([]byte(c.file)); (poolErr == nil) != (err == nil) || (pool == nil) != (err != nil) {
			t.Errorf("%s: the pool is %v, %v", name, pool, poolErr)
		}
	}
}

func TestPair(t *testing.T) {
	authority := echotest.NewAuthority(t, "a")
	leaf, other := authority.Issue(t, "leaf"), authority.Issue(t, "other")
	const noPair = "keys tls.crt and tls.key are not a PEM certificate and its private key: "
	for name, c := range map[string]struct{ certificates, key, want string }{
		"a pair":  {leaf.Certificate, leaf.Key, ""},
		"a chain": {leaf.Certificate + authority.PEM, leaf.Key, ""},
		"byte order marks and CRLF": {byteOrderMark + strings.ReplaceAll(leaf.Certificate+authority.PEM, "\n", "\r\n"),
			byteOrderMark + leaf.Key, ""},
		"both in both files": {leaf.Certificate + leaf.Key, leaf.Certificate + leaf.Key, ""},
		"the authority first": {authority.PEM + leaf.Certificate, leaf.Key,
			"key tls.crt: the certificate for the private key is number 2, but must be the first"},
		"another certificate's key": {leaf.Certificate + authority.PEM, other.Key, "keys tls.crt and tls.key do not match"},
		"a truncated chain":         {leaf.Certificate + authority.PEM[:200], leaf.Key, "key tls.crt: 1 of its 2 blocks are not PEM"},
		"a damaged chain": {leaf.Certificate + strings.Replace(authority.PEM, "MII", "AAA", 1), leaf.Key,
			"key tls.crt: block 2 is not a certificate"},
		"an empty certificate":  {"", leaf.Key, noPair + "failed to find any PEM data in certificate input"},
		"an empty key":          {leaf.Certificate, "", noPair + "failed to find any PEM data in key input"},
		"the files are swapped": {leaf.Key, leaf.Certificate, noPair},
	} {
		_, err := Pair([]byte(c.certificates), []byte(c.key))
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestIsEmpty(t *testing.T) {
	for file, want := range map[string]bool{"": true, strings.Repeat(" ", 2) + "\r\n": true, byteOrderMark + "\n": true, "x": false} {
		if got := IsEmpty([]byte(file)); got != want {
			t.Errorf("%q: %t", file, got)
		}
	}
}
