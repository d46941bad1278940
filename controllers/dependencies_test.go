package controllers

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// withTLS configures HTTPS.
func withTLS(e *v1.Echo) {
	e.Spec.TLS = &v1.EchoTLS{SecretName: "certificate", Port: 8443, ServicePort: 443}
}

func TestOnlyEchoesWithTLSDependOnTheProfile(t *testing.T) {
	deleted := func(e *v1.Echo) { e.DeletionTimestamp = new(metav1.Now()) }
	for name, c := range map[string]struct {
		echo    *v1.Echo
		depends bool
	}{
		"no Echo":               {nil, false},
		"without TLS":           {storedEcho(), false},
		"with TLS":              {storedEcho(withTLS), true},
		"with TLS, but deleted": {storedEcho(withTLS, deleted), false},
	} {
		required := children.TLSProfile{MinVersion: "VersionTLS13"}
		d := Dependencies{TLSProfile: func(context.Context) (children.TLSProfile, error) { return required, errRefused }}
		config, err := d.config(t.Context(), c.echo)
		if got := config.TLS.MinVersion != ""; got != c.depends || c.depends != errors.Is(err, errRefused) {
			t.Errorf("%s: got %+v, %v", name, config, err)
		}
	}
}

// TestNothingIsWrittenWhileTheProfileIsUnknown: the pods would be restarted when it is known.
func TestNothingIsWrittenWhileTheProfileIsUnknown(t *testing.T) {
	unknown := func(context.Context) (children.TLSProfile, error) { return children.TLSProfile{}, errRefused }
	w := newWorld(t, storedEcho(withTLS), ownerPod(), aNode())
	w.dependencies.TLSProfile = unknown
	if _, err := w.echoes().converge(t.Context(), w.current(t)); !errors.Is(err, errRefused) || w.writes != nil {
		t.Errorf("for the Echo it wrote %v: %v", w.writes, err)
	}
	if _, _, err := w.companions().pass(t.Context(), webRequest); !errors.Is(err, errRefused) || w.writes != nil {
		t.Errorf("for the companion it wrote %v: %v", w.writes, err)
	}
}

func TestAnotherProfileConcernsEchoesWithTLSAndTheirCompanions(t *testing.T) {
	plain := storedEcho(func(e *v1.Echo) { e.Name = "plain" })
	ofPlain := ownerPod()
	ofPlain.Name, ofPlain.Labels = "other-0", map[string]string{v1.CompanionLabel: "plain"}
	w := newWorld(t, plain, storedEcho(withTLS), ownerPod(), ofPlain)
	request := func(name string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}}
	}
	if diff := cmp.Diff(request("x"), w.echoes().requestsForAll(t.Context(), hasTLS)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(request("web-0"), w.companions().requestsForTLS(t.Context())); diff != "" {
		t.Error(diff)
	}
}
