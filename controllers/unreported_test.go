package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

func TestAChangeIsKeptUntilItIsReported(t *testing.T) {
	u, x := &unreported{}, types.NamespacedName{Name: "x"}
	change := func(generation int64) []status.Change {
		return []status.Change{{After: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "u", Generation: generation}}}}
	}
	for i, step := range []struct {
		made []status.Change
		want int
	}{{change(1), 1}, {nil, 1}, {change(1), 1}, {change(2), 2}} {
		if got := u.add(x, status.Observation{Changes: step.made}); len(got) != step.want {
			t.Errorf("step %d: got %d changes", i, len(got))
		}
	}
	u.done(x)
	if got := u.add(x, status.Observation{Changes: change(2)}); got != nil {
		t.Errorf("what was reported is reported again: %v", got)
	}
	if got := u.add(x, status.Observation{Changes: change(3)}); len(got) != 1 {
		t.Errorf("another change is not reported: %v", got)
	}
	if got := u.add(types.NamespacedName{Name: "y"}, status.Observation{Changes: change(3)}); len(got) != 1 {
		t.Errorf("the change of another Echo is not reported: %v", got)
	}
	if end := u.gone(x); end != nil || len(u.of) != 1 {
		t.Errorf("it keeps %v", u.of)
	}
}

func TestAWriteThatWasDoneAlthoughTheAnswerWasAnErrorIsAChange(t *testing.T) {
	u, x := &unreported{}, types.NamespacedName{Name: "x"}
	before, after := &appsv1.Deployment{}, &appsv1.Deployment{}
	failed := func(err error) status.Observation {
		return status.Observation{Unsure: []status.Attempt{{Kind: "Deployment", Before: before, Err: err}}}
	}
	asWanted := func(kind string) status.Observation {
		return status.Observation{AsWanted: map[string]client.Object{kind: after}}
	}
	for i, step := range []struct {
		seen status.Observation
		want int
	}{
		{failed(apierrors.NewForbidden(schema.GroupResource{}, "x", nil)), 0},
		{asWanted("Deployment"), 0},
		{failed(apierrors.NewInternalError(errors.New("no"))), 0},
		{asWanted("Service"), 0},
		{asWanted("Deployment"), 1},
		{asWanted("Deployment"), 1},
	} {
		if got := u.add(x, step.seen); len(got) != step.want || step.want == 1 && (got[0].Before != before || got[0].After != after) {
			t.Errorf("step %d: got %v", i, got)
		}
	}
}

func TestTheEndOfAnEchoIsReportedAlthoughTheAnswerWasAnError(t *testing.T) {
	w := newWorld(t, deletedEcho(v1.Finalizer))
	r, echo := w.echoes(), w.current(t)
	w.fail = func(write string) error {
		if write == "patch x" {
			return errors.New("no answer")
		}
		return nil
	}
	if _, err := r.Reconcile(t.Context(), echo); err == nil {
		t.Fatal("the failure is hidden")
	}
	w.events()
	r.Client = newWorld(t).server
	for _, want := range []int{1, 0} {
		if _, err := r.ReconcileNamed(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(echo)}); err != nil {
			t.Fatal(err)
		}
		if got := w.events(); len(got) != want || want == 1 && !strings.HasPrefix(got[0], "Normal Deleted") {
			t.Errorf("it sent %q", got)
		}
	}
}

func TestEventsOfChangesSurviveAStatusThatCannotBeWritten(t *testing.T) {
	w := newWorld(t, storedEcho())
	w.fail = func(write string) error {
		if write == "patch status" {
			return errors.New("no")
		}
		return nil
	}
	r := w.echoes()
	if _, err := r.Reconcile(t.Context(), w.current(t)); err == nil || w.events() != nil {
		t.Errorf("got %v", err)
	}
	w.fail = func(string) error { return nil }
	if _, err := r.Reconcile(t.Context(), w.current(t)); err != nil {
		t.Fatal(err)
	}
	deployed := func(event string) bool { return strings.HasPrefix(event, "Normal Deployed") }
	if got := w.events(); !slices.ContainsFunc(got, deployed) {
		t.Errorf("it sent %q", got)
	}
}
