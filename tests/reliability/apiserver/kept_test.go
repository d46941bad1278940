package apiserver

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/tests/support"
)

// TestPlace_takeOut checks that a child is unchanged after an edit adds something and takeOut removes it. If an edit's place were larger
// than its addition, takeOut would remove fields that the operator set, and the walk would wrongly report a difference.
func TestPlace_takeOut(t *testing.T) {
	for name, change := range map[string]func(*v1.EchoSpec){
		"plain": func(*v1.EchoSpec) {},
		"TLS":   func(s *v1.EchoSpec) { s.TLS = &v1.EchoTLS{SecretName: "one"} },
	} {
		echo := support.Echo("walked-1", echoName, func(e *v1.Echo) {
			e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "echo.example.com"}
			e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
			change(&e.Spec)
		})
		text, err := json.Marshal(echo.Spec)
		if err != nil {
			t.Fatal(err)
		}
		spec := map[string]any{}
		if err := json.Unmarshal(text, &spec); err != nil {
			t.Fatal(err)
		}
		all, err := desired.Of(echo, children.Config{})
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range all {
			for _, e := range edits(child.Kind) {
				if e.kept == nil || !e.fits(spec) {
					continue
				}
				want, got := plainOf(t, child.Desired), plainOf(t, patched(t, child.Desired, e))
				if !e.kept.takeOut(got) {
					t.Errorf("%s, %s, %s: the addition was not found", name, child.Kind, e.what)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, %s, %s: -before, +after:\n%s", name, child.Kind, e.what, diff)
				}
			}
		}
	}
}

func plainOf(t *testing.T, child *object) any {
	t.Helper()
	part, err := plain(child)
	if err != nil {
		t.Fatal(err)
	}
	return part
}

// patched applies an edit to a child and returns the result.
func patched(t *testing.T, child *object, e edit) *object {
	t.Helper()
	text, err := child.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if e.patchType == types.MergePatchType {
		text, err = jsonpatch.MergePatch(text, []byte(e.patch))
	} else {
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch([]byte(e.patch)); err == nil {
			text, err = patch.Apply(text)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", e.what, err)
	}
	after := &object{}
	if err := after.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	return after
}
