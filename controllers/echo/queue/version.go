package queue

import (
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// objectVersion is a version of an object.
type objectVersion struct {
	uid             types.UID
	resourceVersion string
}

// versionOf returns the version of an object, or an empty version if the object is nil.
func versionOf(object client.Object) objectVersion {
	if object == nil {
		return objectVersion{}
	}
	return objectVersion{object.GetUID(), object.GetResourceVersion()}
}
