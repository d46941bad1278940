package controllers

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status"
)

// routed makes an Echo request an HTTPRoute.
func routed(e *v1.Echo) {
	e.Spec.Gateway = &v1.EchoGateway{Enabled: true, ParentRefs: []v1.EchoGatewayReference{{Name: "public"}}}
}

// TestEnsureAll_reportsKindNoLongerServed checks that the other children are still created, because the operator restarts only minutes
// later.
func TestEnsureAll_reportsKindNoLongerServed(t *testing.T) {
	kind := schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}
	for name, c := range map[string]struct {
		refusal error
		lasts   time.Duration
		gone    bool
	}{
		"not served":      {apierrors.NewNotFound(kind, "x"), Tolerance, true},
		"not found once":  {apierrors.NewNotFound(kind, "x"), Tolerance - 1, false},
		"about to vanish": {apierrors.NewMethodNotSupported(kind, "create"), Tolerance, true},
		"another error":   {ErrRefused, Tolerance, false},
	} {
		w := New(t, StoredEcho(routed))
		w.FailOn("apply HTTPRoute", c.refusal)
		r := echoReconciler(w)
		r.Gateways.Served = objects.Served{"HTTPRoute": true}
		r.failures.set(client.ObjectKeyFromObject(w.Current(t)), r.Now().Add(-c.lasts))
		seen, err := r.converge(t.Context(), w.Current(t))
		gone := len(seen.Unserved) == 1 && seen.Unserved[0] == (status.Unserved{Kind: "HTTPRoute"})
		if gone != c.gone || c.gone != (err == nil) {
			t.Errorf("%s: got %v, %v", name, seen.Unserved, err)
		}
	}
}

func TestConverge_reportsUnavailableKinds(t *testing.T) {
	for name, c := range map[string]struct {
		gateways GatewayAPI
		want     status.Unserved
	}{
		"not served": {GatewayAPI{}, status.Unserved{Kind: "HTTPRoute"}},
		"refused":    {GatewayAPI{Refused: map[string]string{"HTTPRoute": "no"}}, status.Unserved{Kind: "HTTPRoute", Refused: "no"}},
		"not known": {GatewayAPI{Unknown: true, Refused: map[string]string{"HTTPRoute": "503"}},
			status.Unserved{Kind: "HTTPRoute", Refused: "503"}},
		"no Gateways": {GatewayAPI{Served: objects.Served{"HTTPRoute": true}, Refused: map[string]string{"Gateway": "no"}},
			status.Unserved{}},
	} {
		w := New(t, StoredEcho(routed))
		r := echoReconciler(w)
		r.Gateways = c.gateways
		seen, err := r.converge(t.Context(), w.Current(t))
		if err != nil || seen.GatewaysUnknown != c.gateways.Unknown || seen.GatewaysRefused != c.gateways.Refused["Gateway"] {
			t.Errorf("%s: %+v, %v", name, seen, err)
		}
		if c.want == (status.Unserved{}) && len(seen.Unserved) > 0 || c.want != (status.Unserved{}) && (len(seen.Unserved) != 1 ||
			seen.Unserved[0] != c.want) {
			t.Errorf("%s: got %v", name, seen.Unserved)
		}
	}
}
