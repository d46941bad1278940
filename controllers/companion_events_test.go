package controllers

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestEachReportIsSentOnceUntilItChanges(t *testing.T) {
	l, pod := &lastReports{}, types.NamespacedName{Name: "p"}
	for i, step := range []struct {
		said string
		want bool
	}{{"", false}, {"a", true}, {"a", false}, {"b", true}, {"", true}, {"", false}, {"b", true}} {
		if got := l.replace(pod, step.said); got != step.want {
			t.Errorf("step %d: got %t", i, got)
		}
	}
	l.replace(pod, "")
	if len(l.of) != 0 {
		t.Errorf("it keeps %v", l.of)
	}
}
