package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const twoExamples = `[{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"name": "a", "namespace": "default"}, "spec": {"replicas": 1}},
	{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"name": "b"}, "spec": {"replicas": 1}}]`

func TestExamples(t *testing.T) {
	for name, c := range map[string]struct {
		examples string
		spoil    func(w *world)
		want     []string
		left     bool // whether Echoes still exist at the end
	}{
		"all are Ready":             {twoExamples, func(*world) {}, nil, false},
		"none is Ready":             {twoExamples, func(w *world) { w.ready = false }, []string{"is not Ready after 1m30s: it has no condition", "is not Ready after 1m30s: it has no condition"}, false},
		"all are refused":           {twoExamples, func(w *world) { w.fail["create Echo"] = errInjected }, []string{"example a: injected", "example b: injected"}, false},
		"they cannot be read":       {twoExamples, func(w *world) { w.fail["get Echo"] = errInjected }, []string{"is not Ready", "is not Ready", "injected"}, false},
		"they cannot be deleted":    {twoExamples, func(w *world) { w.fail["delete Echo"] = errInjected }, []string{"injected"}, true},
		"another kind":              {strings.Replace(twoExamples, `"Echo"`, `"Other"`, 1), func(*world) {}, []string{"example a: it is a example.com/v1, Kind=Other"}, false},
		"another version":           {strings.Replace(twoExamples, "com/v1", "com/v2", 1), func(*world) {}, []string{"example a: it is a example.com/v2, Kind=Echo"}, false},
		"there are none to be made": {"[]", func(*world) {}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.spoil(w)
				problems, err := w.examples(t.Context(), withExamples(c.examples))
				if err != nil || len(problems) != len(c.want) {
					t.Fatalf("the problems are %q, %v, want %q", problems, err, c.want)
				}
				for i, want := range c.want {
					if !strings.Contains(problems[i], want) {
						t.Errorf("problem %d is %q, want %q", i, problems[i], want)
					}
				}
				clear(w.fail)
				if !c.left {
					w.echoesLeft(t)
				}
			})
		})
	}
}

// TestExamplesAreMadeStrictly checks that an unknown field is refused, and that the namespace is the one that the test may write to.
func TestExamplesAreMadeStrictly(t *testing.T) {
	w := newWorld(t)
	var made []string
	w.before = func(request string, object runtime.Object) {
		if request == "create Echo" {
			made = append(made, object.(client.Object).GetNamespace()+"/"+object.(client.Object).GetGenerateName())
		}
	}
	if problems, err := w.examples(t.Context(), withExamples(twoExamples)); err != nil || len(problems) > 0 {
		t.Fatalf("the problems are %q, %v", problems, err)
	}
	if got := strings.Join(made, " "); got != "echoes/scorecard-a- echoes/scorecard-b-" || w.validation != "Strict" {
		t.Errorf("made %s with the field validation %q", got, w.validation)
	}
}

func TestExamplesThatCannotBeRead(t *testing.T) {
	if problems, err := newWorld(t).examples(t.Context(), withExamples("[")); err == nil || !strings.Contains(err.Error(), "alm-examples") {
		t.Errorf("the problems are %q, %v", problems, err)
	}
}

// TestRemoveGoesOn checks that others are deleted although one Echo cannot be, and although the test was told to end.
func TestRemoveGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept, other := plainEcho("echoes"), plainEcho("echoes")
		kept.Name, kept.Finalizers, other.Name = "kept", []string{"example.com/keeps"}, "other"
		w := newWorld(t, kept, other)
		ctx, end := context.WithCancel(t.Context())
		end()
		err := w.remove(ctx, kept, other)
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the Echo kept still exists 1m30s after its deletion") {
			t.Errorf("the error is %v", err)
		}
		if gone, err := isNotFound(w.refresh(t.Context(), other)); !gone || err != nil {
			t.Errorf("the other Echo is gone: %t, %v", gone, err)
		}
		if err := w.remove(t.Context(), other); err != nil {
			t.Errorf("removing what is gone: %v", err)
		}
	})
}
