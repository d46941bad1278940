package controllers

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// versioned returns an Echo's Service with a resource version.
func versioned(version string) *corev1.Service {
	service := OwnedService(StoredEcho())
	service.ResourceVersion = version
	return service
}

func TestExpectations_waitUntilCacheHoldsWrite(t *testing.T) {
	metadata := func(version string) client.Object {
		return &metav1.PartialObjectMetadata{Namespace: "ns", Name: "x", ResourceVersion: version}
	}
	one := StoredEcho(func(e *v1.Echo) { e.ResourceVersion = "10" })
	for name, c := range map[string]struct {
		before, after client.Object
		cached        []client.Object
		elapsed, want time.Duration
	}{
		"created":                   {nil, versioned("9"), nil, time.Second, 9 * time.Second},
		"created, too long ago":     {nil, versioned("9"), nil, cacheLag, 0},
		"changed":                   {versioned("9"), versioned("11"), []client.Object{versioned("9")}, 0, cacheLag},
		"changed, cached":           {versioned("9"), versioned("11"), []client.Object{versioned("11")}, 0, 0},
		"changed again":             {versioned("9"), versioned("11"), []client.Object{versioned("100")}, 0, 0},
		"changed, gone":             {versioned("9"), versioned("11"), nil, 0, 0},
		"the Echo":                  {one, metadata("11"), nil, 0, cacheLag},
		"the Echo, cached":          {one, metadata("10"), nil, 0, 0},
		"versions without an order": {versioned("a"), versioned("b"), []client.Object{versioned("c")}, 0, cacheLag},
	} {
		g, start := NewWithT(t), time.Unix(1000, 0)
		e := &expectations{}
		e.wrote(one, c.before, c.after, start)
		got, err := e.wait(t.Context(), New(t, c.cached...).Cache, one, start.Add(c.elapsed))
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(got).To(Equal(c.want), name)
		_, kept := e.get(client.ObjectKeyFromObject(one))
		g.Expect(kept).To(Equal(c.want > 0), name)
	}
}

// TestExpectations_ofAnotherEcho checks that a new Echo does not wait for the writes of a deleted Echo with the same name.
func TestExpectations_ofAnotherEcho(t *testing.T) {
	e, now := &expectations{}, time.Unix(1000, 0)
	e.wrote(StoredEcho(func(e *v1.Echo) { e.UID = "former" }), nil, versioned("9"), now)
	NewWithT(t).Expect(e.wait(t.Context(), New(t).Cache, StoredEcho(), now)).To(BeZero())
}

func TestReconcile_waitsUntilCacheHoldsOwnWrite(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
	r := echoReconciler(w)
	request := requestForEcho()
	for i, writes := range []bool{true, false} {
		w.Writes = nil
		response, err := r.Reconcile(t.Context(), request)
		g.Expect(err).NotTo(HaveOccurred())
		wrote, waits := len(w.Writes) > 0, response.RequeueAfter == cacheLag
		g.Expect(wrote).To(Equal(writes), "reconcile %d", i)
		g.Expect(waits).To(Equal(!writes), "reconcile %d", i)
	}
}

func TestReconcile_forgetsMissingEcho(t *testing.T) {
	g := NewWithT(t)
	w := New(t)
	r := echoReconciler(w)
	r.expectations.wrote(StoredEcho(), nil, versioned("9"), r.Now())
	r.Client = (&Fallible{Fails: 1}).Over(w.Cache, "cache")
	g.Expect(r.Reconcile(t.Context(), requestForEcho())).Error().To(MatchError(ErrRefused))
	_, kept := r.expectations.get(requestForEcho().NamespacedName)
	g.Expect(kept).To(BeTrue())
	g.Expect(r.Reconcile(t.Context(), requestForEcho())).Error().NotTo(HaveOccurred())
	_, kept = r.expectations.get(requestForEcho().NamespacedName)
	g.Expect(kept).To(BeFalse())
}
