package reliability

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// state describes an Echo and its children when the operator starts.
type state struct {
	finalizer bool
	// children contains "absent", "as desired", or "old" for each child, in the order of childKeys.
	children [3]string
	// status is "none", "right", or "wrong".
	status string
	// mode is "active", "paused", or "deleting".
	mode string
}

var childKeys = [3]objectKey{serviceKey, deploymentKey, budgetKey}

func (s state) String() string {
	return fmt.Sprintf("finalizer %t, children %s, status %s, %s", s.finalizer, strings.Join(s.children[:], "/"), s.status, s.mode)
}

// states returns all possible states of an Echo and its children.
func states() []state {
	var all []state
	forms := []string{"absent", "as desired", "old"}
	for _, finalizer := range []bool{true, false} {
		for _, service := range forms {
			for _, deployment := range forms {
				for _, budget := range forms {
					for _, status := range []string{"none", "right", "wrong"} {
						for _, mode := range []string{"active", "paused", "deleting"} {
							if finalizer || mode != "deleting" { // a deleted Echo without a finalizer would not exist
								all = append(all, state{finalizer, [3]string{service, deployment, budget}, status, mode})
							}
						}
					}
				}
			}
		}
	}
	return all
}

// seed returns a step that creates the state from the final objects of two runs: one with the current spec, and one with the earlier spec.
func (s state) seed(now, old map[objectKey]*unstructured.Unstructured) step {
	return func(in *simulation) {
		echo := now[echoKey].DeepCopy()
		if !s.finalizer {
			echo.SetFinalizers(nil)
		}
		switch s.status {
		case "none":
			delete(echo.Object, "status")
		case "wrong":
			echo.Object["status"] = wrongStatus()
		}
		if s.mode == "paused" {
			set(true, "spec", "paused")(echo.Object)
		}
		in.put(echoKey, echo)
		for i, k := range childKeys {
			switch s.children[i] {
			case "as desired":
				in.put(k, now[k])
			case "old":
				in.put(k, old[k])
			}
		}
		if s.mode == "deleting" {
			in.drop(echoKey)
		}
	}
}

// put stores a copy of an object.
func (s *store) put(k objectKey, o *unstructured.Unstructured) {
	_, _ = s.write(k, func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return o.DeepCopy(), nil }) // this cannot fail
}

// objectsOf returns the objects that exist at the end of a scenario.
func objectsOf(t *testing.T, c scenario) map[objectKey]*unstructured.Unstructured {
	t.Helper()
	var objects map[objectKey]*unstructured.Unstructured
	run(t, plan{}, c, func(_ *testing.T, s *simulation) { objects = maps.Clone(s.objects) })
	return objects
}

// TestEveryState starts the operator with an Echo in every possible state. For each state, it runs the operator with each watch up to two
// changes late, and with a crash after each write. All runs from the same initial state must end in the same state.
func TestEveryState(t *testing.T) {
	if !everything() {
		t.Skip("set RELIABILITY=all to run this test")
	}
	changed := []step{create, changeSpec(func(s *v1.EchoSpec) { s.Port, s.Service.Port = 9000, 90 })}
	old, now := objectsOf(t, scenario{steps: changed[:1]}), objectsOf(t, scenario{steps: changed})
	w := &sweep{}
	all := states()
	t.Run("plans", func(t *testing.T) {
		for _, s := range all {
			c := scenario{name: s.String(), seed: s.seed(now, old)}
			reference := referenceOf(t, c)
			for _, problem := range s.problems(reference, now) {
				w.violations.Add(1)
				t.Errorf("%s: %s", s, problem)
			}
			for _, p := range lateOrCrashed(reference) {
				w.run(t, c, p, reference)
			}
		}
	})
	t.Logf("%d states", len(all))
	w.report(t, len(lags), len(all))
}

// problems returns the differences between a run's final state and the required state. Depending on the mode, all objects must be as
// desired, deleted, or unchanged.
func (s state) problems(end outcome, now map[objectKey]*unstructured.Unstructured) []string {
	var problems []string
	for i, k := range childKeys {
		text, exists := end.state[k.String()]
		switch {
		case s.mode == "active" && text != asText(now[k]):
			problems = append(problems, fmt.Sprintf("%s is\n%s", k, text))
		case s.mode == "deleting" && exists:
			problems = append(problems, fmt.Sprintf("%s is left", k))
		case s.mode == "paused" && exists != (s.children[i] != "absent"):
			problems = append(problems, fmt.Sprintf("%s exists: %t, though the Echo is paused", k, exists))
		}
	}
	if s.mode == "active" && end.state[echoKey.String()] != asText(now[echoKey]) {
		problems = append(problems, "the Echo is\n"+end.state[echoKey.String()])
	}
	return problems
}

// lateOrCrashed returns the plans in which one watch is late and the plans in which the operator crashes after a write.
func lateOrCrashed(reference outcome) []plan {
	var plans []plan
	for _, resource := range []string{"echoes", "services", "deployments", "poddisruptionbudgets", "pods"} {
		for _, lag := range []int{1, 2} {
			plans = append(plans, plan{holds: []hold{{resource, 1, lag}}})
		}
	}
	crash := crashes[slices.IndexFunc(crashes, func(f fault) bool { return f.name == "crash after" })]
	for _, at := range reference.writes() {
		plans = append(plans, plan{faults: []planned{{crash, at}}})
	}
	return plans
}
