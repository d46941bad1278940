package watch

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// env is the field that holds the environment variables of containers and Echoes. The values of these variables may be passwords.
	env = "env"
	// hidden is shown instead of a secret value.
	hidden = "(hidden)"
	// lastApplied is the annotation in which 'kubectl apply' stores a copy of the whole manifest, including the values of environment
	// variables.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// strip removes the parts of an object that are never shown, so that they use no memory.
func strip(object any) (any, error) {
	if o, ok := object.(*unstructured.Unstructured); ok {
		o.SetManagedFields(nil)
		annotations := o.GetAnnotations()
		delete(annotations, lastApplied)
		if len(annotations) == 0 {
			annotations = nil // as if the object had no annotations
		}
		o.SetAnnotations(annotations)
		hide(o.Object, false, false)
	}
	return object, nil
}

// hide replaces the values of all environment variables in a part of an object. The part may be a list of variables (isEnv) or one variable
// (isVariable).
func hide(value any, isEnv, isVariable bool) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			hide(element, false, isEnv)
		}
	case map[string]any:
		for name, field := range v {
			if isVariable && name == "value" {
				v[name] = hidden
				continue
			}
			hide(field, name == env, false)
		}
	}
}
