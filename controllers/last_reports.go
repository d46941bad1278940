package controllers

import (
	"k8s.io/apimachinery/pkg/types"
)

// LastReports holds the last report about each object. A new process starts without reports, and reports everything again.
type LastReports struct{ Memory[string] }

// Replace records the last report about an object, and returns whether the report is new.
func (l *LastReports) Replace(object types.NamespacedName, said string) bool {
	last, _ := l.Get(object)
	if said == "" {
		l.Forget(object)
	} else {
		l.Set(object, said)
	}
	return last != said
}
