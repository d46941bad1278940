package proof

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const nonce = "0123456789abcdef"

// claimed returns claims in which no field is zero.
func claimed() *Claims {
	return &Claims{Server: "89abcdef01234567", Attempt: 3, Status: 418, Method: "POST", Body: Digest([]byte("body")), Describes: true,
		Fields:  map[string]string{"Vary": FieldDigest([]string{"Accept"})},
		Request: Arrival{Method: "POST", Length: 7, Size: 6, Pieces: 5, First: 4, Last: 3, Time: 2}}
}

func TestVerify(t *testing.T) {
	web, other, none := Echo{"shop", "web"}, Echo{"shop", "other"}, Echo{}
	for name, c := range map[string]struct {
		asks, responds, expects Echo
		want                    bool
	}{
		"any Echo":                  {none, web, none, true},
		"this Echo":                 {web, web, web, true},
		"another Echo":              {web, other, web, false},
		"another Echo is an Echo":   {web, other, none, true},
		"a server without the name": {none, web, web, false},
		"no names at all":           {none, none, none, true},
		"a client without the name": {web, none, web, false},
	} {
		got, as, ok := c.responds.Respond(c.asks.Ask(nonce))
		claims, verified := c.expects.Verify(nonce, as.Sign(got, claimed()))
		if !ok || got != nonce || verified != c.want || verified && !reflect.DeepEqual(claims, claimed()) {
			t.Errorf("%s: %v, nonce %q, claims %+v, verified %v", name, ok, got, claims, verified)
		}
	}
}

// TestVerify_rejectsInvalidProofs changes a proof, and computes proofs over data that are not claims, as a hostile server can.
func TestVerify_rejectsInvalidProofs(t *testing.T) {
	web := Echo{"shop", "web"}
	encode := base64.RawURLEncoding.EncodeToString
	signed := func(encoded string) string { return web.digest(byServer, nonce, encoded) + "." + encoded }
	good := web.Sign(nonce, claimed())
	digest, encoded, _ := strings.Cut(good, ".")
	foreign := claimed()
	foreign.Status = 200
	_, foreignClaims, _ := strings.Cut(web.Sign(nonce, foreign), ".")
	if _, ok := web.Verify(nonce, signed(encode([]byte("{}")))); !ok {
		t.Error("signed claims without content are rejected, so this test cannot sign")
	}
	for name, value := range map[string]string{
		"nothing":                     "",
		"a nonce":                     nonce,
		"what the client sent":        web.Ask(nonce),
		"the client's digest":         web.digest(byClient, nonce, encoded) + "." + encoded,
		"another nonce":               web.Sign("fedcba9876543210", claimed()),
		"another Echo":                Echo{"shop", "other"}.Sign(nonce, claimed()),
		"foreign claims":              digest + "." + foreignClaims,
		"no claims":                   digest,
		"no claims, but a dot":        digest + ".",
		"a digest without claims":     web.digest(byServer, nonce),
		"a digest of no claims":       signed(""),
		"no digest":                   "." + encoded,
		"only claims":                 encoded,
		"a shorter digest":            good[1:],
		"a digest in capital letters": strings.ToUpper(digest) + "." + encoded,
		"more after the claims":       good + "A",
		"a dot after the claims":      good + ".",
		"less claims":                 good[:len(good)-1],
		"two proofs":                  good + "," + good,
		"the former format":           digest + "; attempt=1",
		"padding":                     signed(base64.URLEncoding.EncodeToString([]byte(`{"attempt":1}`))),
		"the other alphabet":          signed(base64.RawStdEncoding.EncodeToString([]byte(`{"server":"???>>>"}`))),
		"not base64":                  signed("{}"),
		"a dot in the claims":         signed("e30.e30"),
		"not JSON":                    signed(encode([]byte("attempt=1"))),
		"JSON null":                   signed(encode([]byte("null"))),
		"a list":                      signed(encode([]byte("[]"))),
		"a number":                    signed(encode([]byte("1"))),
		"half of an object":           signed(encode([]byte(`{"attempt":1`))),
		"two objects":                 signed(encode([]byte(`{}{}`))),
		"a wrong type":                signed(encode([]byte(`{"attempt":"1"}`))),
		"a large number":              signed(encode([]byte(`{"attempt":99999999999999999999}`))),
		"a fraction":                  signed(encode([]byte(`{"status":200.5}`))),
		"deep":                        signed(encode([]byte(strings.Repeat(`{"request":`, 500)))),
		"too long":                    signed(encode([]byte(`{"server":"` + strings.Repeat("x", maxClaims*3/4) + `"}`))),
		"much too long":               signed(strings.Repeat("A", 10<<20)),
	} {
		if c, ok := web.Verify(nonce, value); ok || c != nil {
			t.Errorf("%s: %.100q is accepted as a proof of %+v", name, value, c)
		}
	}
	for i := range good { // a proxy that changes any byte
		changed := good[:i] + string(good[i]^1) + good[i+1:]
		if _, ok := web.Verify(nonce, changed); ok {
			t.Errorf("%q is accepted as a proof", changed)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte(`{"attempt":1,"fields":{"Vary":"00000000"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		encoded := base64.RawURLEncoding.EncodeToString(data)
		c, ok := Echo{}.Verify(nonce, Echo{}.digest(byServer, nonce, encoded)+"."+encoded)
		if !ok {
			return
		}
		again, ok := Echo{}.Verify(nonce, Echo{}.Sign(nonce, c)) // escapes may make long texts too long
		if ok && (again.Attempt != c.Attempt || again.Request != c.Request) {
			t.Errorf("claims %+v become %+v", c, again)
		}
	})
}

// TestSign_boundsLength signs claims with so many fields that Verify would reject them.
func TestSign_boundsLength(t *testing.T) {
	for count, want := range map[int]int{1: 1, 100: 100, 400: 0} {
		c := claimed()
		c.Fields = map[string]string{}
		for i := range count {
			c.Fields[fmt.Sprintf("X-Field-Number-%d", i)] = "01234567"
		}
		got, ok := Echo{}.Verify(nonce, Echo{}.Sign(nonce, c))
		if !ok || len(got.Fields) != want || got.Status != c.Status || len(c.Fields) != count {
			t.Errorf("of %d fields, %d are claimed in %+v, %v", count, len(c.Fields), got, ok)
		}
	}
}

// TestSign_format computes a proof from the documentation only.
func TestSign_format(t *testing.T) {
	digest, encoded, _ := strings.Cut(Echo{"shop", "web"}.Sign(nonce, &Claims{Attempt: 1, Request: Arrival{Length: -1}}), ".")
	const want = `{"server":"","attempt":1,"status":0,"method":"","request":{"method":"","length":-1,"size":0,"pieces":0}}`
	if got, err := base64.RawURLEncoding.DecodeString(encoded); err != nil || string(got) != want {
		t.Errorf("the claims are %s, %v", got, err)
	}
	sum := sha256.Sum256([]byte("echo-proof\nserver\n" + nonce + "\nshop\nweb\n" + encoded))
	if digest != hex.EncodeToString(sum[:]) {
		t.Errorf("the digest is %s", digest)
	}
}

func TestDigest(t *testing.T) {
	if got := Digest([]byte("hello")); got != "2cf24dba5fb0a30e" {
		t.Errorf("the digest of a text is %s", got)
	}
	if got := Digest(nil); got != "e3b0c44298fc1c14" {
		t.Errorf("the digest of nothing is %s", got)
	}
}

func TestFieldDigest(t *testing.T) {
	same := FieldDigest([]string{"a", "b"})
	for want, equal := range map[bool][][]string{
		true:  {{"a\nb"}, {" a", "b\t"}, {"a ", " b"}},
		false: {{"b", "a"}, {"a, b"}, {"a"}, {"a", "b", ""}, {"A", "b"}, nil},
	} {
		for _, values := range equal {
			if got := FieldDigest(values); (got == same) != want || len(got) != fieldDigits {
				t.Errorf("the digest of %q is %s, of a and b it is %s", values, got, same)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	for _, text := range []string{"", "{}", "two\nlines\n"} {
		if value, got := Split(Enclose("value", []byte(text))); value != "value" || string(got) != text {
			t.Errorf("%q becomes %q and %q", text, value, got)
		}
	}
	if value, text := Split([]byte("{}")); value != "" || string(text) != "{}" {
		t.Errorf("a message without a proof becomes %q and %q", value, text)
	}
	original := []byte("text with capacity")[:4]
	if _ = Enclose("value", original); string(original[:18]) != "text with capacity" {
		t.Errorf("the text is now %q", original[:18])
	}
}

func TestRespond_acceptsOnlyValidNonces(t *testing.T) {
	for value, want := range map[string]bool{
		nonce: true, strings.Repeat("a", maxNonce): true, strings.Repeat("a", maxNonce+1): false, nonce[1:]: false, "": false,
		strings.ToUpper(nonce): false, nonce + "\n": false, nonce + ",": false, nonce + ".": true,
		nonce + "." + strings.Repeat("x", 1000): true,
	} {
		if _, _, ok := (Echo{}).Respond(value); ok != want {
			t.Errorf("%q: %v, want %v", value, ok, want)
		}
	}
}
