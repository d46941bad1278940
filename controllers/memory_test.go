package controllers

import (
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func TestMemories_listsEach(t *testing.T) {
	memory := reflect.TypeFor[interface{ clear() }]()
	for _, r := range []interface{ Memories() []func() }{
		&EchoReconciler{}, &CheckReconciler{}, &PodMonitorReconciler{}, &CompanionReconciler{},
	} {
		want := count(reflect.TypeOf(r).Elem(), memory)
		if got := len(r.Memories()); got != want || want == 0 {
			t.Errorf("%T drops %d memories, and has %d", r, got, want)
		}
	}
}

// count returns how many fields of a type are memories.
func count(of, memory reflect.Type) int {
	n := 0
	for field := range of.Fields() {
		switch {
		case reflect.PointerTo(field.Type).Implements(memory):
			n++
		case field.Name == "memory":
			n += count(field.Type, memory)
		}
	}
	return n
}

func TestLastReports(t *testing.T) {
	g := NewWithT(t)
	l, pod := &lastReports{}, types.NamespacedName{Name: "p"}
	for i, step := range []struct {
		said string
		want bool
	}{{"", false}, {"a", true}, {"a", false}, {"b", true}, {"", true}, {"", false}, {"b", true}} {
		g.Expect(l.replace(pod, step.said)).To(Equal(step.want), "step %d", i)
	}
	l.replace(pod, "")
	g.Expect(l.of).To(BeEmpty())
}
