package main

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// textOf returns a text of an object, "" if there is none.
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

// itemsOf returns the items of a list of an object.
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

// ready returns the condition Ready of an object, empty if it has none.
func ready(o object) object { return condition(o, "Ready") }

// explanation returns the condition that says why an Echo needs attention: Degraded if it is ready all the same.
func explanation(echo object) object {
	if now := ready(echo); textOf(now, "status") != "True" {
		return now
	}
	return condition(echo, "Degraded")
}

// condition returns a condition of an object, empty if it does not have it.
func condition(o object, kind string) object {
	for _, c := range itemsOf(o, "status", "conditions") {
		if textOf(c, "type") == kind {
			return c
		}
	}
	return object{}
}

// container is the status of a container.
type container struct {
	Pod      object
	Name     string
	Restarts int64
	Started  bool   // whether there is a log
	Last     object // how it ended before
}

func containersOf(pod object) []container {
	var containers []container
	for _, status := range slices.Concat(itemsOf(pod, "status", "initContainerStatuses"), itemsOf(pod, "status", "containerStatuses")) {
		_, runs, _ := unstructured.NestedMap(status.Object, "state", "running")
		_, ended, _ := unstructured.NestedMap(status.Object, "state", "terminated")
		last, _, _ := unstructured.NestedMap(status.Object, "lastState", "terminated")
		containers = append(containers, container{pod, textOf(status, "name"), numberOf(status, "restartCount"), runs || ended, object{Object: last}})
	}
	return containers
}
