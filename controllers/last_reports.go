package controllers

import (
	"k8s.io/apimachinery/pkg/types"
)

// LastReports holds what was last reported about each pod. A new process starts with none and reports once more.
type LastReports struct{ Memory[string] }

// Replace records what was last reported about a pod, and returns whether that is new.
func (l *LastReports) Replace(pod types.NamespacedName, said string) bool {
	last, _ := l.Get(pod)
	if said == "" {
		l.Forget(pod)
	} else {
		l.Set(pod, said)
	}
	return last != said
}
