package controllers

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// routed asks for an HTTPRoute.
func routed(e *v1.Echo) {
	e.Spec.Gateway = &v1.EchoGateway{Enabled: true, ParentRefs: []v1.EchoGatewayReference{{Name: "public"}}}
}

// TestAKindThatTheClusterNoLongerServesIsReported: the operator starts again only minutes later, and the other children are made meanwhile.
func TestAKindThatTheClusterNoLongerServesIsReported(t *testing.T) {
	kind := schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "httproutes"}
	for name, c := range map[string]struct {
		refusal error
		lasts   time.Duration
		gone    bool
	}{
		"not served":      {apierrors.NewNotFound(kind, "x"), tolerance, true},
		"not found once":  {apierrors.NewNotFound(kind, "x"), tolerance - 1, false},
		"about to vanish": {apierrors.NewMethodNotSupported(kind, "create"), tolerance, true},
		"another error":   {errRefused, tolerance, false},
	} {
		w := newWorld(t, storedEcho(routed))
		w.failOn("apply HTTPRoute", c.refusal)
		r := w.echoes()
		r.Gateways.Served = children.Served{"HTTPRoute": true}
		r.failures.set(client.ObjectKeyFromObject(w.current(t)), r.Now().Add(-c.lasts))
		seen, err := r.converge(t.Context(), w.current(t))
		gone := len(seen.Unserved) == 1 && seen.Unserved[0] == (status.Unserved{Kind: "HTTPRoute"})
		if gone != c.gone || c.gone != (err == nil) {
			t.Errorf("%s: got %v, %v", name, seen.Unserved, err)
		}
	}
}

func TestWhatIsNotOfferedIsReportedAndNotWritten(t *testing.T) {
	for name, c := range map[string]struct {
		gateways GatewayAPI
		want     status.Unserved
	}{
		"not served":  {GatewayAPI{}, status.Unserved{Kind: "HTTPRoute"}},
		"refused":     {GatewayAPI{Refused: map[string]string{"HTTPRoute": "no"}}, status.Unserved{Kind: "HTTPRoute", Refused: "no"}},
		"not known":   {GatewayAPI{Unknown: true, Refused: map[string]string{"HTTPRoute": "503"}}, status.Unserved{Kind: "HTTPRoute", Refused: "503"}},
		"no Gateways": {GatewayAPI{Served: children.Served{"HTTPRoute": true}, Refused: map[string]string{"Gateway": "no"}}, status.Unserved{}},
	} {
		w := newWorld(t, storedEcho(routed))
		r := w.echoes()
		r.Gateways = c.gateways
		seen, err := r.converge(t.Context(), w.current(t))
		if err != nil || seen.GatewaysUnknown != c.gateways.Unknown || seen.GatewaysRefused != c.gateways.Refused["Gateway"] {
			t.Errorf("%s: %+v, %v", name, seen, err)
		}
		if c.want == (status.Unserved{}) && len(seen.Unserved) > 0 || c.want != (status.Unserved{}) && (len(seen.Unserved) != 1 || seen.Unserved[0] != c.want) {
			t.Errorf("%s: got %v", name, seen.Unserved)
		}
	}
}

func TestIsGone(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "x")
	wanted := children.PodMonitor(storedEcho(func(e *v1.Echo) { e.Spec.Monitoring = &v1.EchoMonitoring{Enabled: true} }))
	for name, c := range map[string]struct {
		child children.Child
		err   error
		want  bool
	}{
		"optional":                 {children.Child{Optional: true, Want: wanted.Want}, gone, true},
		"optional, and not wanted": {children.Child{Optional: true}, gone, false},
		"of each cluster":          {children.Child{Want: wanted.Want}, gone, false},
		"another error":            {children.Child{Optional: true, Want: wanted.Want}, errors.New("x"), false},
		"no error":                 {children.Child{Optional: true, Want: wanted.Want}, nil, false},
	} {
		NewWithT(t).Expect(isGone(c.child, c.err)).To(Equal(c.want), name)
	}
}
