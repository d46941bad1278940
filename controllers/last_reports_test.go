package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
)

func TestLastReports(t *testing.T) {
	g := NewWithT(t)
	l, pod := &LastReports{}, types.NamespacedName{Name: "p"}
	for i, step := range []struct {
		said string
		want bool
	}{{"", false}, {"a", true}, {"a", false}, {"b", true}, {"", true}, {"", false}, {"b", true}} {
		g.Expect(l.Replace(pod, step.said)).To(Equal(step.want), "step %d", i)
	}
	l.Replace(pod, "")
	g.Expect(l.of).To(BeEmpty())
}
