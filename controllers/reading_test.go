package controllers

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func TestReadOwned(t *testing.T) {
	echo := StoredEcho()
	foreign := &corev1.Service{Namespace: "ns", Name: "x"}
	earlier := OwnedService(StoredEcho(func(e *v1.Echo) { e.UID = "of an earlier Echo" }))
	none, own := []client.Object{}, []client.Object{OwnedService(echo)}
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
			w := NewLate(t, c.cached, c.live)
			got, err := w.Dependencies.readOwned(t.Context(), w.Cache, echo, child)
			if taken := errors.As(err, new(*objects.NameConflictError)); taken != c.taken || !taken && err != nil || (got != nil) != c.found {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestFind(t *testing.T) {
	w := New(t, StoredEcho())
	key := client.ObjectKey{Namespace: "ns", Name: "x"}
	if echo, err := find(t.Context(), w.Server, key, StoredEcho()); err != nil || echo == nil ||
		echo.UID != "echo-uid" {
		t.Errorf("got %v, %v", echo, err)
	}
	for _, absent := range []client.ObjectKey{{Namespace: "ns", Name: "y"}, {Namespace: "ns"}} {
		if echo, err := find(t.Context(), w.Server, absent, StoredEcho()); err != nil || echo != nil {
			t.Errorf("%s: got %v, %v", absent, echo, err)
		}
	}
}
