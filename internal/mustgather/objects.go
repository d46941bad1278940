package mustgather

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// textOf returns a string in an object, or "" if there is none.
func textOf(o object, path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

func textsOf(o object, path ...string) []string {
	texts, _, _ := unstructured.NestedStringSlice(o.Object, path...)
	return texts
}

func numberOf(o object, path ...string) int64 {
	number, _, _ := unstructured.NestedInt64(o.Object, path...)
	return number
}

// itemsOf returns the items of a list in an object.
func itemsOf(o object, path ...string) []object {
	list, _, _ := unstructured.NestedSlice(o.Object, path...)
	var items []object
	for _, item := range list {
		if fields, isMap := item.(map[string]any); isMap {
			items = append(items, object{Object: fields})
		}
	}
	return items
}

func namespacesOf(objects []object) []string {
	var namespaces []string
	for _, o := range objects {
		namespaces = append(namespaces, o.GetNamespace())
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// isReady reports whether an object's Ready condition is true.
func isReady(o object) bool {
	return slices.ContainsFunc(itemsOf(o, "status", "conditions"), func(c object) bool {
		return textOf(c, "type") == "Ready" && textOf(c, "status") == "True"
	})
}

// container is the status of a container.
type container struct {
	Pod      object
	Name     string
	Restarts int64
	Started  bool // whether the container has a log
}

func containersOf(pod object) []container {
	var containers []container
	for _, status := range slices.Concat(itemsOf(pod, "status", "initContainerStatuses"), itemsOf(pod, "status", "containerStatuses")) {
		_, runs, _ := unstructured.NestedMap(status.Object, "state", "running")
		_, ended, _ := unstructured.NestedMap(status.Object, "state", "terminated")
		containers = append(containers, container{pod, textOf(status, "name"), numberOf(status, "restartCount"), runs || ended})
	}
	return containers
}
