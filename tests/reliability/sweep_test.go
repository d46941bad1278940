package reliability

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

// scenario is what a person does. The operator works until nothing is left to do after each step.
type scenario struct {
	name  string
	steps []func(*testing.T, *simulation)
}

func create(t *testing.T, s *simulation) {
	if err := s.Create(t.Context(), support.Echo("ns", "x")); err != nil {
		t.Fatal(err)
	}
}

// change returns a step that changes the spec of the Echo.
func change(edit func(*v1.EchoSpec)) func(*testing.T, *simulation) {
	return func(t *testing.T, s *simulation) {
		echo := &v1.Echo{}
		if err := s.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, echo); err != nil {
			t.Fatal(err)
		}
		edit(&echo.Spec)
		echo.Generation++
		if err := s.Update(t.Context(), echo); err != nil {
			t.Fatal(err)
		}
	}
}

func remove(t *testing.T, s *simulation) {
	if err := s.Delete(t.Context(), support.Echo("ns", "x")); err != nil {
		t.Fatal(err)
	}
}

// foreignService is a Service with the name of the Echo that somebody else created.
func foreignService() *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "theirs", Port: 5}}}}
}

func takeName(t *testing.T, s *simulation) {
	if err := s.Create(t.Context(), foreignService()); err != nil {
		t.Fatal(err)
	}
}

func freeName(t *testing.T, s *simulation) {
	if err := s.Delete(t.Context(), foreignService()); err != nil {
		t.Fatal(err)
	}
}

func scenarios() []scenario {
	return []scenario{
		{"create", []func(*testing.T, *simulation){create}},
		{"scale", []func(*testing.T, *simulation){create, change(func(s *v1.EchoSpec) { s.Replicas = 3 })}},
		{"change", []func(*testing.T, *simulation){create, change(func(s *v1.EchoSpec) { s.Port, s.Service.Port = 9000, 90 })}},
		{"prune", []func(*testing.T, *simulation){create, change(func(s *v1.EchoSpec) { s.DisruptionBudget.Enabled = new(false) })}},
		{"pause", []func(*testing.T, *simulation){create, change(func(s *v1.EchoSpec) { s.Paused, s.Replicas = true, 3 }), change(func(s *v1.EchoSpec) { s.Paused = false })}},
		{"refuse", []func(*testing.T, *simulation){create, change(func(s *v1.EchoSpec) { s.Replicas = 21 }), change(func(s *v1.EchoSpec) { s.Replicas = 1 })}},
		{"name taken", []func(*testing.T, *simulation){takeName, create}},
		{"name taken and freed", []func(*testing.T, *simulation){takeName, create, freeName}},
		{"delete", []func(*testing.T, *simulation){create, remove}},
		{"delete and create", []func(*testing.T, *simulation){create, remove, create}},
	}
}

func (c scenario) run(t *testing.T, f fault, at int) *simulation {
	t.Helper()
	s := newSimulation(f, at)
	for _, step := range c.steps {
		step(t, s)
		s.settle(t)
	}
	if s.broken != nil {
		t.Errorf("broken promises: %v", s.broken)
	}
	return s
}

// TestEverySingleFault runs each scenario with each fault at each request.
func TestEverySingleFault(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	plans := 0
	for _, c := range scenarios() {
		reference := c.run(t, fault{}, 0)
		state, events := reference.state(t), reference.events()
		for at, call := range reference.faults.calls {
			for _, f := range faults() {
				if !f.applies(call) {
					continue
				}
				plans++
				t.Run(c.name+", "+f.name+" at request "+call, func(t *testing.T) {
					t.Parallel()
					s := c.run(t, f, at+1)
					if !s.faults.hit {
						t.Error("the fault did not happen")
					}
					if diff := cmp.Diff(state, s.state(t)); diff != "" {
						t.Errorf("the state differs: %s", diff)
					}
					if !f.visible {
						s.expectEvents(t, events)
					}
					s.expectQuiet(t)
				})
			}
		}
	}
	t.Logf("%d plans, %d faults, %d scenarios", plans, len(faults()), len(scenarios()))
}

// expectEvents expects that no event was sent twice, and that none was lost unless the process crashed.
func (s *simulation) expectEvents(t *testing.T, want []string) {
	t.Helper()
	got := s.events()
	crashed := s.faults.fault.crashBefore || s.faults.fault.crashAfter
	for _, event := range slices.Compact(slices.Clone(got)) {
		if count(got, event) > count(want, event) {
			t.Errorf("it sent %d times, not %d: %s", count(got, event), count(want, event), event)
		}
	}
	for _, event := range slices.Compact(slices.Clone(want)) {
		if count(got, event) < count(want, event) && !crashed {
			t.Errorf("it sent %d times, not %d: %s", count(got, event), count(want, event), event)
		}
	}
}

func count(all []string, one string) int {
	n := 0
	for _, each := range all {
		if each == one {
			n++
		}
	}
	return n
}

// expectQuiet expects that another pass sends no request, or only looks whether a name is still taken.
func (s *simulation) expectQuiet(t *testing.T) {
	t.Helper()
	before := len(s.faults.calls)
	result, err, _ := s.pass(t)
	if err != nil && !errors.Is(err, reconcile.TerminalError(nil)) {
		t.Error(err)
	}
	for _, call := range s.faults.calls[before:] {
		if !strings.HasPrefix(call, "cache: ") && (!strings.HasPrefix(call, "get ") || result.RequeueAfter == 0) {
			t.Errorf("when nothing is left to do, it sends: %s", call)
		}
	}
}
