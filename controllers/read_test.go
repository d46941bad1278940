package controllers_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestReadOwned(t *testing.T) {
	echo := fakecluster.StoredEcho()
	foreign := &corev1.Service{Namespace: "ns", Name: "x"}
	earlier := fakecluster.OwnedService(fakecluster.StoredEcho(func(e *v1.Echo) { e.UID = "of an earlier Echo" }))
	none, own := []client.Object{}, []client.Object{fakecluster.OwnedService(echo)}
	for name, c := range map[string]struct {
		cached, live []client.Object
		unwanted     bool
		found, taken bool
	}{
		"absent":                         {cached: none, live: none},
		"cached":                         {cached: own, live: own, found: true},
		"not in the cache yet":           {cached: none, live: own, found: true},
		"without the operator's label":   {cached: none, live: []client.Object{foreign}, taken: true},
		"of another client":              {cached: []client.Object{foreign}, live: []client.Object{foreign}, taken: true},
		"of an earlier Echo":             {cached: []client.Object{earlier}, live: []client.Object{earlier}, taken: true},
		"of an earlier Echo, replaced":   {cached: []client.Object{earlier}, live: own, found: true},
		"of another client, not desired": {cached: []client.Object{foreign}, live: []client.Object{foreign}, unwanted: true},
		"cached, but not desired":        {cached: own, live: own, unwanted: true, found: true},
		"deleted, which the cache lags":  {cached: []client.Object{earlier}, live: none},
	} {
		t.Run(name, func(t *testing.T) {
			child := service(t)
			if c.unwanted {
				child.Desired = nil
			}
			w := fakecluster.NewLate(t, c.cached, c.live)
			got, err := w.Dependencies.ReadOwned(t.Context(), w.Cache, echo, child)
			if taken := errors.As(err, new(*children.NameConflictError)); taken != c.taken || !taken && err != nil || (got != nil) != c.found {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestFind(t *testing.T) {
	w := fakecluster.New(t, fakecluster.StoredEcho())
	key := client.ObjectKey{Namespace: "ns", Name: "x"}
	if echo, err := controllers.Find(t.Context(), w.Server, key, fakecluster.StoredEcho()); err != nil || echo == nil ||
		echo.UID != "echo-uid" {
		t.Errorf("got %v, %v", echo, err)
	}
	for _, absent := range []client.ObjectKey{{Namespace: "ns", Name: "y"}, {Namespace: "ns"}} {
		if echo, err := controllers.Find(t.Context(), w.Server, absent, fakecluster.StoredEcho()); err != nil || echo != nil {
			t.Errorf("%s: got %v, %v", absent, echo, err)
		}
	}
}
