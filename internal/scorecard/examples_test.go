package scorecard

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

const twoExamples = `[{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"name": "a", "namespace": "default"}, "spec": {"replicas": 1}},
	{"apiVersion": "example.com/v1", "kind": "Echo", "metadata": {"name": "b"}, "spec": {"replicas": 1}}]`

func withExamples(t *testing.T, examples string) bundle.Bundle {
	t.Helper()
	b := ownBundle(t)
	b.CSV.Metadata.Annotations = map[string]string{"alm-examples": examples}
	return b
}

func TestExamples(t *testing.T) {
	const notReady = "is not Ready after 1m30s: it has no condition"
	for name, c := range map[string]struct {
		examples string
		spoil    func(w *world)
		want     []string
		left     bool // whether Echoes still exist at the end
	}{
		"all are Ready": {twoExamples, func(*world) {}, nil, false},
		"none is Ready": {twoExamples, func(w *world) { w.ready = false }, []string{notReady, notReady}, false},
		"all are refused": {twoExamples, func(w *world) { w.fail["create Echo"] = errInjected },
			[]string{"example a: injected", "example b: injected"}, false},
		"they cannot be read": {twoExamples, func(w *world) { w.fail["get Echo"] = errInjected },
			[]string{"is not Ready", "is not Ready", "injected"}, false},
		"they cannot be deleted": {twoExamples, func(w *world) { w.fail["delete Echo"] = errInjected }, []string{"injected"}, true},
		"another kind": {strings.Replace(twoExamples, `"Echo"`, `"Other"`, 1), func(*world) {},
			[]string{"example a: it is a example.com/v1, Kind=Other"}, false},
		"another version": {strings.Replace(twoExamples, "com/v1", "com/v2", 1), func(*world) {},
			[]string{"example a: it is a example.com/v2, Kind=Echo"}, false},
		"there are no examples": {"[]", func(*world) {}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				c.spoil(w)
				problems, err := w.examples(t.Context(), withExamples(t, c.examples))
				if err != nil || len(problems) != len(c.want) {
					t.Fatalf("the problems are %q, %v, want %q", problems, err, c.want)
				}
				for i, want := range c.want {
					if !strings.Contains(problems[i], want) {
						t.Errorf("problem %d is %q, want %q", i, problems[i], want)
					}
				}
				if !c.left {
					w.expectNoEchoes(t)
				}
			})
		})
	}
}

// TestExamples_createsWithStrictValidation checks that unknown fields are rejected, and that examples are created in the namespace to which
// the test may write.
func TestExamples_createsWithStrictValidation(t *testing.T) {
	w := newWorld(t)
	if problems, err := w.examples(t.Context(), withExamples(t, twoExamples)); err != nil || len(problems) > 0 {
		t.Fatalf("the problems are %q, %v", problems, err)
	}
	for i, want := range []string{"scorecard-a-", "scorecard-b-"} {
		if made := w.made[i]; made.GetNamespace() != "echoes" || made.GetGenerateName() != want || made.GetName() != "" {
			t.Errorf("the example became %v, want %s", made, want)
		}
	}
	if w.validation != "Strict" {
		t.Errorf("the field validation is %q", w.validation)
	}
}
