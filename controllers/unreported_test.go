package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
		if got := u.add(x, step.made); len(got) != step.want {
			t.Errorf("step %d: got %d changes", i, len(got))
		}
	}
	u.done(x)
	if got := u.add(x, change(2)); got != nil {
		t.Errorf("what was reported is reported again: %v", got)
	}
	if got := u.add(x, change(3)); len(got) != 1 {
		t.Errorf("another change is not reported: %v", got)
	}
	if got := u.add(types.NamespacedName{Name: "y"}, change(3)); len(got) != 1 {
		t.Errorf("the change of another Echo is not reported: %v", got)
	}
	u.forget(x)
	if len(u.passes) != 1 {
		t.Errorf("it keeps %v", u.passes)
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
