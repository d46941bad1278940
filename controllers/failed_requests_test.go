package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

var errRefused = errors.New("refused")

// fallible makes the reads of a world count, and one of them fail.
type fallible struct {
	reads []string
	fails int // which read fails, counted from 1; none if it is 0
}

// read counts a read and returns its error.
func (f *fallible) read(what string) error {
	f.reads = append(f.reads, what)
	if len(f.reads) == f.fails {
		return errRefused
	}
	return nil
}

// over returns a client that reads from another one. where tells the cache from the API server.
func (f *fallible) over(c client.WithWatch, where string) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := f.read(fmt.Sprintf("%s: get %T", where, object)); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := f.read(fmt.Sprintf("%s: list %T", where, list)); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	})
}

// failRead makes a read of a world fail, counted from 1.
func (w *world) failRead(number int) *fallible {
	f := &fallible{fails: number}
	w.cache = f.over(w.cache, "cache")
	w.dependencies.Client, w.dependencies.Live = w.cache, f.over(w.server, "API server")
	return f
}

// unwantedBudget returns a PodDisruptionBudget of an Echo that does not want one any more.
func unwantedBudget(echo *v1.Echo) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "budget-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(echo, v1.GroupVersion.WithKind("Echo"))}}}
}

func TestEachWriteOfAPassThatFails(t *testing.T) {
	g := NewWithT(t)
	echo := storedEcho(func(e *v1.Echo) {
		e.Finalizers = nil
		e.Spec.DisruptionBudget.Enabled = new(false)
		e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "echo.example.com"}
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
	})
	all := []string{"patch x", "apply Service", "apply Deployment", "delete x", "apply Ingress", "apply NetworkPolicy"}
	for i, write := range all {
		t.Run(write, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, echo, unwantedBudget(echo))
			w.failOn(write, errRefused)
			_, err := w.failing().Reconcile(t.Context(), w.current(t))
			g.Expect(err).To(MatchError(errRefused))
			g.Expect(w.writes).To(BeComparableTo(append(slices.Clone(all[:i+1]), "patch status")), "what was written")
			got := meta.FindStatusCondition(w.current(t).Status.Conditions, v1.ConditionDegraded)
			if got == nil || got.Status != metav1.ConditionTrue || got.Reason != "ApplyFailed" || got.Message != err.Error() {
				t.Errorf("the status says %+v", got)
			}
		})
	}
	w := newWorld(t, echo, unwantedBudget(echo))
	g.Expect(w.echoes().Reconcile(t.Context(), w.current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.writes).To(HaveExactElements(append(all, "patch status")))
}

// readsOf returns what a pass over an Echo reads if nothing fails, which is at least a number of reads.
func readsOf(t *testing.T, objects []client.Object, least int) []string {
	t.Helper()
	w := newWorld(t, objects...)
	echo, pass := w.current(t), w.failRead(0)
	if _, err := w.echoes().Reconcile(t.Context(), echo); err != nil || len(pass.reads) < least {
		t.Fatalf("the pass reads %v: %v", pass.reads, err)
	}
	return pass.reads
}

func TestAFailureIsNotReportedAtOnce(t *testing.T) {
	w := newWorld(t, storedEcho())
	w.fail = func(string) error { return errRefused }
	if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); !errors.Is(err, errRefused) || !slices.Equal(w.writes, []string{"apply Service"}) || w.events() != nil {
		t.Errorf("it wrote %v: %v", w.writes, err)
	}
}

func TestEachReadOfAPassThatFails(t *testing.T) {
	echo := storedEcho()
	objects := []client.Object{echo, echoPod(), ownedService(echo)} // the node of the pod is gone
	for i, read := range readsOf(t, objects, 9) {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, objects...)
			current := w.current(t)
			w.failRead(i + 1)
			g.Expect(w.failing().Reconcile(t.Context(), current)).Error().To(MatchError(errRefused))
			g.Expect(w.writes).To(HaveExactElements("patch status"))
			if status := w.current(t).Status; status.Phase != v1.PhaseWarning || status.Conditions[0].Status != metav1.ConditionUnknown {
				t.Errorf("the status is %+v", status)
			}
		})
	}
}

func TestEachReadOfADeletionThatFails(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	// A pass over an Echo of which nothing is left asks both the cache and the API server for everything.
	for i, read := range readsOf(t, []client.Object{echo}, 10) {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			w := newWorld(t, echo)
			current := w.current(t)
			w.failRead(i + 1)
			if _, err := w.echoes().Reconcile(t.Context(), current); !errors.Is(err, errRefused) || w.writes != nil || w.gone(t) {
				t.Errorf("it wrote %v: %v", w.writes, err)
			}
		})
	}
}

func TestEachWriteOfADeletionThatFails(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	companion := companionPod(t)
	all := []string{"delete x", "delete x", "delete " + companion.Name}
	for i := range all {
		w := newWorld(t, echo, ownedService(echo), unwantedBudget(echo), companion)
		w.fail = func(string) error {
			if len(w.writes) == i+1 {
				return errRefused
			}
			return nil
		}
		if _, err := w.echoes().Reconcile(t.Context(), w.current(t)); !errors.Is(err, errRefused) || !slices.Equal(w.writes, all[:i+1]) || w.gone(t) {
			t.Errorf("write %d: it wrote %v: %v", i+1, w.writes, err)
		}
		NewWithT(t).Expect(w.events()).To(BeNil(), "write %d", i+1)
	}
}

func TestAnEchoThatCannotBeReleasedStays(t *testing.T) {
	for name, echo := range map[string]*v1.Echo{
		"deleted":  deletedEcho(v1.Finalizer),
		"orphaned": deletedEcho(v1.Finalizer, metav1.FinalizerOrphanDependents),
	} {
		w := newWorld(t, echo)
		w.failOn("patch x", errRefused)
		_, err := w.echoes().Reconcile(t.Context(), w.current(t))
		if !errors.Is(err, errRefused) || w.gone(t) {
			t.Errorf("%s: got %v", name, err)
		}
		for _, event := range w.events() { // that deletion began may be among them
			if strings.HasPrefix(event, "Normal Deleted ") {
				t.Errorf("%s: it sent %q", name, event)
			}
		}
	}
}

func TestEachReadForACompanionThatFails(t *testing.T) {
	g := NewWithT(t)
	objects := []client.Object{storedEcho(), ownerPod(), aNode()}
	count := newWorld(t, objects...)
	pass := count.failRead(0)
	g.Expect(count.companions().Reconcile(t.Context(), webRequest)).Error().NotTo(HaveOccurred())
	g.Expect(pass.reads).To(HaveLen(5))
	for i, read := range pass.reads {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(t, objects...)
			w.failRead(i + 1)
			g.Expect(w.companions().Reconcile(t.Context(), webRequest)).Error().To(MatchError(errRefused))
			g.Expect(w.writes).To(BeNil())
		})
	}
}

// TestAnEchoThatCannotBeReadIsRemembered checks that the history of an Echo is dropped only when the Echo is known to be gone.
func TestAnEchoThatCannotBeReadIsRemembered(t *testing.T) {
	g := NewWithT(t)
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "x"}}
	w := newWorld(t, storedEcho())
	r := w.echoes()
	r.History.AddPass(request.NamespacedName, w.dependencies.Now(), nil)
	f := &fallible{fails: 1}
	r.Client = f.over(w.server, "cache")
	g.Expect(r.ReconcileNamed(t.Context(), request)).Error().To(MatchError(errRefused))
	g.Expect(r.History.Passes()).To(HaveLen(1))
	g.Expect(r.ReconcileNamed(t.Context(), request)).Error().NotTo(HaveOccurred())
	g.Expect(r.History.Passes()[request.NamespacedName].Error).To(BeEmpty())
	r.Client = newWorld(t).server
	if result, err := r.ReconcileNamed(t.Context(), request); err != nil || result != (ctrl.Result{}) || len(r.History.Passes()) != 0 {
		t.Errorf("of an Echo that is gone it keeps %v: %+v, %v", r.History.Passes(), result, err)
	}
}

func TestTheErrorOfAPassIsRemembered(t *testing.T) {
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "x"}}
	w := newWorld(t, storedEcho())
	w.fail = func(string) error { return errRefused }
	r := w.echoes()
	_, err := r.ReconcileNamed(t.Context(), request)
	if got := r.History.Passes()[request.NamespacedName].Error; err == nil || got != err.Error() {
		t.Errorf("it keeps %q of %v", got, err)
	}
}
