package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// uid matches UIDs, which also occur in the managed fields.
const uid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

type object = unstructured.Unstructured

// state contains the objects that the API server stores in a namespace.
type state struct {
	echo *object // nil if there is no Echo
	// children contains one object of each kind that a child can have, regardless of who created the object. A correct state has at most one
	// object of each kind.
	children map[string]*object
	// others contains additional objects of these kinds.
	others []*object
	pods   []*object
}

// read reads the objects in a namespace. It reads the Echo first: if the Echo is missing, it was removed before the other objects were
// read.
func (s *server) read(ctx context.Context, namespace string) (*state, error) {
	echoes, err := s.list(ctx, &v1.Echo{}, namespace)
	if err != nil {
		return nil, err
	}
	now := &state{children: map[string]*object{}}
	if len(echoes) > 0 {
		now.echo = &echoes[0]
	}
	for _, kind := range objects.Kinds(nil) {
		items, err := s.list(ctx, kind, namespace)
		if err != nil {
			return nil, err
		}
		for i := range items {
			if kind := items[i].GetKind(); now.children[kind] == nil {
				now.children[kind] = &items[i]
			} else {
				now.others = append(now.others, &items[i])
			}
		}
	}
	if !s.pods {
		return now, nil
	}
	pods, err := s.list(ctx, &corev1.Pod{}, namespace)
	for i := range pods {
		now.pods = append(now.pods, &pods[i])
	}
	return now, err
}

func (s *server) list(ctx context.Context, kind client.Object, namespace string) ([]object, error) {
	gvk, err := apiutil.GVKForObject(kind, s.client.Scheme())
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind + "List"})
	err = s.client.List(ctx, list, client.InNamespace(namespace))
	return list.Items, err
}

// all returns all objects in a state, starting with the Echo.
func (s *state) all() []*object {
	var all []*object
	if s.echo != nil {
		all = append(all, s.echo)
	}
	for _, kind := range objects.Kinds(nil) {
		for name, child := range s.children {
			if strings.HasSuffix(fmt.Sprintf("%T", kind), "."+name) {
				all = append(all, child)
			}
		}
	}
	return append(all, s.others...)
}

// plain returns a state without the values that differ between two Echoes with the same spec: the namespace, UIDs, times, versions, and the
// addresses and ports that the API server allocates. The result includes the operator's managed fields, but no other managed fields.
func (s *state) plain() (map[string]any, error) {
	all := map[string]any{}
	for i, o := range s.all() {
		part, err := plain(o)
		if err != nil {
			return nil, err
		}
		name := o.GetKind()
		if i >= len(s.all())-len(s.others) {
			name += " " + o.GetName()
		}
		all[name] = part
	}
	return all, nil
}

func plain(o *object) (any, error) {
	part := map[string]any{
		"labels": o.GetLabels(), "annotations": o.GetAnnotations(), "finalizers": o.GetFinalizers(),
		"spec": o.DeepCopy().Object["spec"], "owners": o.GetOwnerReferences(),
	}
	for _, entry := range o.GetManagedFields() {
		if objects.IsOwnEntry(entry) {
			part["owned"] = json.RawMessage(entry.FieldsV1.GetRawBytes())
		}
	}
	switch o.GetKind() {
	case "Echo":
		part["status"] = plainStatus(o)
	case "Service":
		maskAllocations(part["spec"].(map[string]any))
	}
	text, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	var read any
	text = bytes.ReplaceAll(text, []byte(o.GetNamespace()), []byte("NAMESPACE"))
	return read, json.Unmarshal(regexp.MustCompile(uid).ReplaceAll(text, []byte("UID")), &read)
}

// plainStatus returns an Echo's status without times. It replaces each observed generation with the difference from the latest generation.
func plainStatus(echo *object) any {
	status, _ := echo.DeepCopy().Object["status"].(map[string]any)
	if status == nil {
		return nil
	}
	observed, _ := status["observedGeneration"].(int64)
	status["observedGeneration"] = observed - echo.GetGeneration()
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		condition := c.(map[string]any)
		delete(condition, "lastTransitionTime")
		observed, _ := condition["observedGeneration"].(int64)
		condition["observedGeneration"] = observed - echo.GetGeneration()
	}
	return status
}

// maskAllocations replaces the addresses and ports that the API server allocates for a Service.
func maskAllocations(spec map[string]any) {
	for _, field := range []string{"clusterIP", "clusterIPs", "healthCheckNodePort"} {
		if spec[field] != nil {
			spec[field] = "allocated"
		}
	}
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if port := port.(map[string]any); port["nodePort"] != nil {
			port["nodePort"] = "allocated"
		}
	}
}

// condition returns an Echo's condition of the given type, or nil if the Echo does not have it.
func condition(echo *object, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(echo.Object, "status", "conditions")
	for _, c := range conditions {
		if condition := c.(map[string]any); condition["type"] == kind {
			return condition
		}
	}
	return nil
}
