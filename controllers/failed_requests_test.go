package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// unwantedBudget returns the PodDisruptionBudget of an Echo that no longer requests one.
func unwantedBudget(echo *v1.Echo) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{Namespace: "ns", Name: "x", UID: "budget-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(echo, v1.GroupVersion.WithKind("Echo"))}}
}

func TestReconcile_eachWriteThatFails(t *testing.T) {
	g := NewWithT(t)
	echo := StoredEcho(func(e *v1.Echo) {
		e.Finalizers = nil
		e.Spec.DisruptionBudget.Enabled = new(false)
		e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "echo.example.com"}
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
	})
	all := []string{"patch x", "apply Service", "apply Deployment", "delete x", "apply Ingress", "apply NetworkPolicy"}
	for i, write := range all {
		t.Run(write, func(t *testing.T) {
			g := NewWithT(t)
			w := New(t, echo, unwantedBudget(echo))
			w.FailOn(write, ErrRefused)
			_, err := failing(w).reconcile(t.Context(), w.Current(t))
			g.Expect(err).To(MatchError(ErrRefused))
			g.Expect(w.Writes).To(BeComparableTo(append(slices.Clone(all[:i+1]), "patch status")), "the writes")
			got := meta.FindStatusCondition(w.Current(t).Status.Conditions, v1.ConditionDegraded)
			if got == nil || got.Status != metav1.ConditionTrue || got.Reason != "ApplyFailed" || !strings.Contains(got.Message, `refused". The operator retries automatically.`) {
				t.Errorf("the status says %+v", got)
			}
		})
	}
	w := New(t, echo, unwantedBudget(echo))
	g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(HaveExactElements(append(all, "patch status")))
}

// readsOf returns the reads of a reconcile in which nothing fails. least is the minimum number of reads: the test fails if there are fewer.
func readsOf(t *testing.T, objects []client.Object, least int) []string {
	t.Helper()
	w := New(t, objects...)
	echo, reads := w.Current(t), w.FailRead(0)
	if _, err := echoReconciler(w).reconcile(t.Context(), echo); err != nil || len(reads.Reads) < least {
		t.Fatalf("the reconcile reads %v: %v", reads.Reads, err)
	}
	return reads.Reads
}

func TestReconcile_toleratesFirstFailure(t *testing.T) {
	w := New(t, StoredEcho())
	w.Fail = func(string) error { return ErrRefused }
	if _, err := echoReconciler(w).reconcile(t.Context(), w.Current(t)); !errors.Is(err, ErrRefused) ||
		!slices.Equal(w.Writes, []string{"apply Service"}) || w.Events() != nil {
		t.Errorf("the reconcile wrote %v: %v", w.Writes, err)
	}
}

func TestReconcile_eachReadThatFails(t *testing.T) {
	echo := StoredEcho()
	objects := []client.Object{echo, EchoPod(), OwnedService(echo)} // the pod's node is gone
	for i, read := range readsOf(t, objects, 9) {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			g := NewWithT(t)
			w := New(t, objects...)
			current := w.Current(t)
			w.FailRead(i + 1)
			g.Expect(failing(w).reconcile(t.Context(), current)).Error().To(MatchError(ErrRefused))
			g.Expect(w.Writes).To(HaveExactElements("patch status"))
			if status := w.Current(t).Status; status.Phase != v1.PhaseWarning || status.Conditions[0].Status != metav1.ConditionUnknown {
				t.Errorf("the status is %+v", status)
			}
		})
	}
}

// TestReconcile_eachReadThatFailsWhenANameIsTaken checks that the reconcile is retried. If the name conflict hid the failed read, the next
// reconcile would start only after a minute. The status must not keep the counts of a Deployment that the Echo no longer owns.
func TestReconcile_eachReadThatFailsWhenANameIsTaken(t *testing.T) {
	echo := StoredEcho()
	foreign := &appsv1.Deployment{Namespace: "ns", Name: "x", UID: "foreign-uid"}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "x", errors.New("it exists"))
	reconcileWithout := func(t *testing.T, read int) ([]string, error) {
		t.Helper()
		w := New(t, echo, OwnedService(echo), foreign)
		w.FailOn("apply Deployment", conflict)
		current, reads := w.Current(t), w.FailRead(read)
		_, err := echoReconciler(w).reconcile(t.Context(), current)
		return reads.Reads, err
	}
	reads, err := reconcileWithout(t, 0)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "the name is checked again after a minute")
	NewWithT(t).Expect(reads).To(ContainElement("API server: get *v1.Deployment"))
	for i, read := range reads {
		if _, err := reconcileWithout(t, i+1); !errors.Is(err, ErrRefused) {
			t.Errorf("read %d, %s: the reconcile returned %v", i+1, read, err)
		}
	}
}

func TestReconcileDelete_stopsAtEachFailedRead(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	// A reconcile of a deleted Echo that has no children left reads everything from both the cache and the API server.
	for i, read := range readsOf(t, []client.Object{echo}, 10) {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			w := New(t, echo)
			current := w.Current(t)
			w.FailRead(i + 1)
			if _, err := echoReconciler(w).reconcile(t.Context(), current); !errors.Is(err, ErrRefused) || w.Writes != nil || gone(t, w) {
				t.Errorf("the reconcile wrote %v: %v", w.Writes, err)
			}
		})
	}
}

func TestReconcileDelete_stopsAtEachFailedWrite(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	companion := CompanionPod(t)
	all := []string{"delete x", "delete x", "delete " + companion.Name}
	for i := range all {
		w := New(t, echo, OwnedService(echo), unwantedBudget(echo), companion)
		w.Fail = func(string) error {
			if len(w.Writes) == i+1 {
				return ErrRefused
			}
			return nil
		}
		if _, err := echoReconciler(w).reconcile(t.Context(), w.Current(t)); !errors.Is(err, ErrRefused) ||
			!slices.Equal(w.Writes, all[:i+1]) || gone(t, w) {
			t.Errorf("write %d: the reconcile wrote %v: %v", i+1, w.Writes, err)
		}
		NewWithT(t).Expect(w.Events()).To(BeNil(), "write %d", i+1)
	}
}

func TestRelease_keepsEchoAfterFailedWrite(t *testing.T) {
	for name, echo := range map[string]*v1.Echo{
		"deleted":  deletedEcho(v1.Finalizer),
		"orphaned": deletedEcho(v1.Finalizer, metav1.FinalizerOrphanDependents),
	} {
		w := New(t, echo)
		w.FailOn("patch x", ErrRefused)
		_, err := echoReconciler(w).reconcile(t.Context(), w.Current(t))
		if !errors.Is(err, ErrRefused) || gone(t, w) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
