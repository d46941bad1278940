package apiserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

type object = unstructured.Unstructured

// state contains the objects that the API server stores in a namespace.
type state struct {
	echo *object // nil if there is no Echo
	// children contains the objects of each kind that a child can have, regardless of who created them.
	children []*object
}

// read reads the objects in a namespace. It reads the Echo first: if the Echo is missing, it was removed before the other objects were
// read.
func (s *server) read(ctx context.Context, namespace string) (*state, error) {
	now := &state{}
	echoes, err := s.list(ctx, &v1.Echo{}, namespace)
	if err != nil {
		return nil, err
	}
	if len(echoes) > 0 {
		now.echo = echoes[0]
	}
	for _, kind := range objects.Kinds(nil) {
		found, err := s.list(ctx, kind, namespace)
		if err != nil {
			return nil, err
		}
		now.children = append(now.children, found...)
	}
	return now, nil
}

func (s *server) list(ctx context.Context, kind client.Object, namespace string) ([]*object, error) {
	gvk, err := apiutil.GVKForObject(kind, s.client.Scheme())
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	var found []*object
	err = s.client.List(ctx, list, client.InNamespace(namespace))
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	return found, err
}

// all returns the Echo and its children.
func (s *state) all() []*object {
	if s.echo == nil {
		return s.children
	}
	return append([]*object{s.echo}, s.children...)
}

// plain returns a state without the values that differ between two Echoes with the same spec. The result includes the operator's managed
// fields, but no other managed fields.
func (s *state) plain() (map[string]any, error) {
	all := map[string]any{}
	for _, o := range s.all() {
		o = o.DeepCopy()
		o.SetManagedFields(slices.DeleteFunc(o.GetManagedFields(),
			func(entry metav1.ManagedFieldsEntry) bool { return !objects.IsOwnEntry(entry) }))
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		masks := []string{o.GetNamespace(), "NAMESPACE", string(o.GetUID()), "UID"}
		for _, owner := range o.GetOwnerReferences() { // the managed fields contain this UID in the name of a field
			masks = append(masks, string(owner.UID), "OWNER")
		}
		var read map[string]any
		if err := json.Unmarshal([]byte(strings.NewReplacer(masks...).Replace(string(text))), &read); err != nil {
			return nil, err
		}
		all[o.GetKind()+" "+o.GetName()] = mask(read, float64(o.GetGeneration()))
	}
	return all, nil
}

// mask removes versions and times from a value, masks the addresses and ports that the API server allocates, and replaces each observed
// generation with the difference from the latest generation.
func mask(value any, generation float64) any {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			switch name {
			case "resourceVersion", "generation", "creationTimestamp", "lastTransitionTime", "time":
				delete(value, name)
			case "clusterIP", "clusterIPs", "healthCheckNodePort", "nodePort":
				value[name] = "allocated"
			case "observedGeneration":
				value[name] = field.(float64) - generation
			default:
				value[name] = mask(field, generation)
			}
		}
	case []any:
		for i := range value {
			value[i] = mask(value[i], generation)
		}
	}
	return value
}

// refusal returns the reason why, according to the status, the latest generation of the Echo cannot be applied, or "" if there is none.
func (s *state) refusal() string {
	if s.echo == nil {
		return ""
	}
	conditions, _, _ := unstructured.NestedSlice(s.echo.Object, "status", "conditions")
	for _, c := range conditions {
		degraded := c.(map[string]any)
		reason, _ := degraded["reason"].(string)
		if degraded["type"] == v1.ConditionDegraded && degraded["status"] == "True" && degraded["observedGeneration"] == s.echo.GetGeneration() &&
			(reason == v1.ReasonInvalidSpec.String() || reason == v1.ReasonNameConflict.String()) {
			return reason
		}
	}
	return ""
}
