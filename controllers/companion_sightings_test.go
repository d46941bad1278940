package controllers

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// stripped returns the companion of the owner pod, without labels.
func stripped(t *testing.T) *corev1.Pod {
	t.Helper()
	pod := companionPod(t)
	pod.Labels = nil
	return pod
}

func gone(t *testing.T, w *world, object client.Object) {
	t.Helper()
	NewWithT(t).Expect(w.cache.Delete(t.Context(), object)).To(Succeed())
	w.writes = nil
}

func TestACompanionWithoutLabelsIsDeletedWhenItIsNotWanted(t *testing.T) {
	unlabelled := func(t *testing.T, w *world) { gone(t, w, ownerPod()) } // from the cache of labelled pods
	for name, end := range map[string]func(*testing.T, *world){
		"its owner loses the label": unlabelled,
		"its Echo is deleted":       func(t *testing.T, w *world) { gone(t, w, storedEcho()) },
		"both":                      func(t *testing.T, w *world) { unlabelled(t, w); gone(t, w, storedEcho()) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			companion := stripped(t)
			w := newLateWorld(t, []client.Object{storedEcho(), ownerPod(), aNode(), companionPod(t)}, []client.Object{companion})
			live := &fallible{}
			w.dependencies.Live = live.over(w.server, "API server")
			r := w.companions()
			r.Client = writesTo{w.cache, w.server}
			pass := func() {
				t.Helper()
				if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter != 0 {
					t.Errorf("%+v, %v", result, err)
				}
			}
			pass()
			gone(t, w, companion) // as the watch tells it
			end(t, w)
			for range 3 {
				pass()
			}
			g.Expect(w.writes).To(HaveExactElements("delete " + companion.Name))
			g.Expect(live.reads).To(HaveLen(1))
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

func TestANewProcessAsksOnceForACompanionThatIsNotWanted(t *testing.T) {
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
		w := newLateWorld(t, []client.Object{ownerPod(), aNode()}, c.live) // the Echo is gone
		live := &fallible{}
		w.dependencies.Live = live.over(w.server, "API server")
		r := w.companions()
		r.Client = writesTo{w.cache, w.server}
		for range 3 {
			if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter != 0 {
				t.Errorf("%s: %+v, %v", name, result, err)
			}
		}
		g.Expect(w.writes).To(HaveExactElements(c.want), name)
		g.Expect(live.reads).To(HaveLen(1), name)
	}
}

func terminating(pod *corev1.Pod) *corev1.Pod {
	pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.org/theirs"}
	return pod
}

func TestTheEndOfAPodWithACompanionReadsNothing(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(t, storedEcho(), ownerPod(), aNode(), companionPod(t))
	live := &fallible{}
	w.dependencies.Live = live.over(w.server, "API server")
	r := w.companions()
	for i, step := range []func(){func() {}, func() { gone(t, w, ownerPod()) }, func() {}} {
		step()
		g.Expect(r.Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred(), "pass %d", i)
	}
	g.Expect(live.reads).To(BeEmpty())
	g.Expect(r.seen.of).To(BeEmpty())
}

func TestACompanionThatWasReplacedMeanwhileIsLookedAtAgain(t *testing.T) {
	w := newWorld(t, companionPod(t)) // its owner is gone
	w.fail = func(string) error {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, companionPod(t).Name, nil) // the UID is another one
	}
	r := w.companions()
	for range 2 {
		if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter == 0 {
			t.Errorf("the pass ends with %+v, %v", result, err)
		}
	}
	w.fail = func(string) error { return nil }
	if result, err := r.Reconcile(t.Context(), webRequest); err != nil || result.RequeueAfter != 0 || len(w.writes) != 3 {
		t.Errorf("it wrote %v: %+v, %v", w.writes, result, err)
	}
}
