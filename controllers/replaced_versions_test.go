package controllers

import (
	"context"
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

func version(v string) *v1.Echo {
	return storedEcho(func(e *v1.Echo) { e.ResourceVersion = v })
}

func TestAVersionIsReplacedUntilTheCacheHoldsALaterOne(t *testing.T) {
	v := &replacedVersions{}
	v.add(version("1"), version("2")) // the finalizer
	v.add(version("2"), version("3")) // the status
	v.add(version("3"), version("3")) // nothing
	for i, step := range []struct {
		cached string
		want   bool
	}{{"1", true}, {"2", true}, {"3", false}, {"1", false}} { // a version that comes back is not waited for: the API server was restored
		if got := v.have(version(step.cached)); got != step.want {
			t.Errorf("step %d: got %v", i, got)
		}
	}
}

func TestTheVersionsOfAnEchoThatIsGoneAreForgotten(t *testing.T) {
	w := newWorld(t)
	r := w.echoes()
	r.replaced.add(version("1"), version("2"))
	if _, err := r.ReconcileNamed(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(version("1"))}); err != nil {
		t.Fatal(err)
	}
	if len(r.replaced.of) != 0 {
		t.Errorf("it holds %v", r.replaced.of)
	}
}

func TestAPassIsMadeWhenTheCacheHoldsTheOperatorsOwnWrite(t *testing.T) {
	w := newLateWorld(t, []client.Object{storedEcho()}, []client.Object{storedEcho()})
	r := w.echoes()
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(storedEcho())}
	for i, step := range []struct {
		cache  client.Client
		writes bool
	}{{w.server, true}, {w.cache, false}, {w.server, true}} {
		w.writes = nil
		r.Client = cachedClient{w.server, step.cache}
		if _, err := r.ReconcileNamed(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if got := len(w.writes) > 0; got != step.writes {
			t.Errorf("step %d: it wrote %v", i, w.writes)
		}
	}
}

// cachedClient reads from a cache, and writes to a server.
type cachedClient struct {
	client.Client
	cache client.Reader
}

func (c cachedClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return c.cache.Get(ctx, key, into, options...)
}
