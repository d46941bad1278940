package proof

import (
	"strings"
	"testing"
)

const nonce = "0123456789abcdef"

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
		got, proof, ok := c.responds.Respond(c.asks.Ask(nonce))
		attempt, verified := c.expects.Verify(nonce, Value(proof, 3))
		if !ok || got != nonce || verified != c.want || verified && attempt != 3 {
			t.Errorf("%s: %v, nonce %q, attempt %d, verified %v", name, ok, got, attempt, verified)
		}
	}
}

func TestVerify_rejectsInvalidProofs(t *testing.T) {
	web := Echo{"shop", "web"}
	_, proof, _ := web.Respond(web.Ask(nonce))
	_, others, _ := web.Respond(web.Ask("fedcba9876543210"))
	for _, value := range []string{"", nonce, web.Ask(nonce), strings.TrimPrefix(web.Ask(nonce), nonce+"."), others, proof[1:],
		strings.ToUpper(proof)} {
		if _, ok := web.Verify(nonce, value); ok {
			t.Errorf("%q is accepted as a proof", value)
		}
	}
	if attempt, ok := web.Verify(nonce, proof); !ok || attempt != 1 {
		t.Errorf("a proof without a number has the attempt %d, %v", attempt, ok)
	}
}

func TestRespond_acceptsOnlyValidNonces(t *testing.T) {
	for value, want := range map[string]bool{
		nonce: true, strings.Repeat("a", maxNonce): true, strings.Repeat("a", maxNonce+1): false, nonce[1:]: false, "": false,
		strings.ToUpper(nonce): false, nonce + "\n": false, nonce + ",": false, nonce + ".": true, nonce + "." + strings.Repeat("x", 1000): true,
	} {
		if _, _, ok := (Echo{}).Respond(value); ok != want {
			t.Errorf("%q: %v, want %v", value, ok, want)
		}
	}
}
