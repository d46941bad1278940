package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// env is the field in which containers, and Echoes, have their environment. Its values may be passwords.
	env = "env"
	// hidden stands in for a value that is not shown.
	hidden = "(hidden)"
	// lastApplied is where 'kubectl apply' keeps a copy of the whole manifest, the values of its env included.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// secret says whether a field of something, which may be a variable of an environment, must not be shown.
func secret(ofVariable bool, field string) bool { return ofVariable && field == "value" }

// strip takes off an object what is never shown of it, so that it is not kept in memory either.
func strip(object any) (any, error) {
	if o, ok := object.(*unstructured.Unstructured); ok {
		o.SetManagedFields(nil)
		annotations := o.GetAnnotations()
		delete(annotations, lastApplied)
		if len(annotations) == 0 {
			annotations = nil // as if there had never been any
		}
		o.SetAnnotations(annotations)
	}
	return object, nil
}

// shown is a value as it may be shown.
func shown(at place, value any) any {
	if at.secret && value != nil {
		return hidden
	}
	value = runtime.DeepCopyJSONValue(value)
	hide(value, at.name == env, at.inEnv)
	return value
}

// hide replaces in a value all that is secret. The value may be an environment, or a variable of one.
func hide(value any, isEnv, isVariable bool) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			hide(element, false, isEnv)
		}
	case map[string]any:
		for name, field := range v {
			if secret(isVariable, name) {
				v[name] = hidden
				continue
			}
			hide(field, name == env, false)
		}
	}
}
