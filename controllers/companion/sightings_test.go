package companion

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

// stripped returns the companion of the owner pod, without labels.
func stripped(t *testing.T) *corev1.Pod {
	t.Helper()
	pod := fakecluster.CompanionPod(t)
	pod.Labels = nil
	return pod
}

func gone(t *testing.T, w *fakecluster.World, object client.Object) {
	t.Helper()
	NewWithT(t).Expect(w.Cache.Delete(t.Context(), object)).To(Succeed())
	w.Writes = nil
}

func TestLastSeen_remembersUnlabeledCompanion(t *testing.T) {
	unlabeled := func(t *testing.T, w *fakecluster.World) { gone(t, w, fakecluster.OwnerPod()) } // from the cache of labeled pods
	for name, end := range map[string]func(*testing.T, *fakecluster.World){
		"its owner loses the label": unlabeled,
		"its Echo is deleted":       func(t *testing.T, w *fakecluster.World) { gone(t, w, fakecluster.StoredEcho()) },
		"both":                      func(t *testing.T, w *fakecluster.World) { unlabeled(t, w); gone(t, w, fakecluster.StoredEcho()) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			companion := stripped(t)
			w := fakecluster.NewLate(t, []client.Object{fakecluster.StoredEcho(), fakecluster.OwnerPod(), aNode(), fakecluster.CompanionPod(t)},
				[]client.Object{companion})
			live := &fakecluster.Fallible{}
			w.Dependencies.Live = live.Over(w.Server, "API server")
			r := reconciler(w)
			r.Client = writesTo{w.Cache, w.Server}
			reconcile := func() {
				t.Helper()
				if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter != 0 {
					t.Errorf("%+v, %v", result, err)
				}
			}
			reconcile()
			gone(t, w, companion) // as the watch reports it
			end(t, w)
			for range 3 {
				reconcile()
			}
			g.Expect(w.Writes).To(HaveExactElements("delete " + companion.Name))
			g.Expect(live.Reads).To(HaveLen(1))
		})
	}
}

// writesTo writes to an API server, and reads from a cache.
type writesTo struct {
	client.Client
	server client.Client
}

// Delete implements client.Client.
func (w writesTo) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return w.server.Delete(ctx, object, options...)
}

func TestLastSeen_readsOnceInNewProcess(t *testing.T) {
	g := NewWithT(t)
	for name, c := range map[string]struct {
		live []client.Object
		want []string
	}{
		"there is none":            {nil, nil},
		"one without labels":       {[]client.Object{stripped(t)}, []string{"delete " + stripped(t).Name}},
		"a foreign pod":            {[]client.Object{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: stripped(t).Name}}}, nil},
		"one that is deleted soon": {[]client.Object{terminating(stripped(t))}, nil},
	} {
		w := fakecluster.NewLate(t, []client.Object{fakecluster.OwnerPod(), aNode()}, c.live) // the Echo is gone
		live := &fakecluster.Fallible{}
		w.Dependencies.Live = live.Over(w.Server, "API server")
		r := reconciler(w)
		r.Client = writesTo{w.Cache, w.Server}
		for range 3 {
			if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter != 0 {
				t.Errorf("%s: %+v, %v", name, result, err)
			}
		}
		g.Expect(w.Writes).To(HaveExactElements(c.want), name)
		g.Expect(live.Reads).To(HaveLen(1), name)
	}
}

func terminating(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.org/theirs"}
	return pod
}

func TestLastSeen_forgetsPodWithoutRead(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho(), fakecluster.OwnerPod(), aNode(), fakecluster.CompanionPod(t))
	live := &fakecluster.Fallible{}
	w.Dependencies.Live = live.Over(w.Server, "API server")
	r := reconciler(w)
	for i, step := range []func(){func() {}, func() { gone(t, w, fakecluster.OwnerPod()) }, func() {}} {
		step()
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred(), "reconcile %d", i)
	}
	g.Expect(live.Reads).To(BeEmpty())
	_, kept := r.seen.Get(webRequest.NamespacedName)
	g.Expect(kept).To(BeFalse())
}

func TestReconciler_retriesDeletionOfReplacedCompanion(t *testing.T) {
	w := fakecluster.New(t, fakecluster.CompanionPod(t)) // its owner is gone
	w.Fail = func(string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, fakecluster.CompanionPod(t).Name, nil) // another UID
	}
	r := reconciler(w)
	for range 2 {
		if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter == 0 {
			t.Errorf("the reconcile returned %+v, %v", result, err)
		}
	}
	w.Fail = func(string) error { return nil }
	if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter != 0 || len(w.Writes) != 3 {
		t.Errorf("the reconcile wrote %v: %+v, %v", w.Writes, result, err)
	}
}
