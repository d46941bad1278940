package children

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Child is an object that an Echo is made of, or would be made of.
type Child struct {
	Kind string
	Key  client.ObjectKey
	// Blank returns an empty object of the kind, to read into.
	Blank func() client.Object
	// Want holds the fields that the operator sets, and no others. It is nil if there should be no such object.
	Want *unstructured.Unstructured
	// Optional is true if the cluster may not serve the kind.
	Optional bool
	// RunsPods is true if the pods of the Echo belong to the object.
	RunsPods bool
	// anew reports whether an object that differs has to be created anew, nil if that is never so.
	anew anew
	// given completes what is wanted by what exists, nil if there is nothing to complete.
	given given
	// refusable is true if the API server may refuse an object that is created anew.
	refusable bool
}

// Given returns a child with what the API server added to a list that is set as a whole, so that to apply it does not remove that.
func (c Child) Given(live client.Object) Child {
	if c.given != nil && c.Want != nil {
		c.Want = c.given(c.Want, live)
	}
	return c
}

// Trial returns a child under a name that no other has, to ask the API server whether it would accept it. It is nil if there is no doubt.
func (c Child) Trial() *unstructured.Unstructured {
	const suffix = "-trial"
	if !c.refusable {
		return nil
	}
	trial := c.Want.DeepCopy()
	trial.SetName(c.Key.Name[:min(len(c.Key.Name), validation.DNS1035LabelMaxLength-len(suffix))] + suffix)
	return trial
}

// Body returns what is wanted as JSON that is YAML, too, for an object of a UID and a resource version. Both can be empty.
func (c Child) Body(uid types.UID, resourceVersion string) ([]byte, error) {
	object := maps.Clone(c.Want.Object)
	metadata, _ := object["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if uid != "" {
		metadata["uid"] = string(uid)
	}
	if resourceVersion != "" {
		metadata["resourceVersion"] = resourceVersion
	}
	object["metadata"] = metadata
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("writing %s %s: %w", c.Kind, c.Key, err)
	}
	return escaped(body), nil
}

// anew reports whether an object has to be created anew, given its JSON as it is wanted and as it is, and the fields that the operator
// owns.
type anew func(want, have map[string]any, owned *fieldpath.Set) bool

// given returns what is wanted, completed by what exists. It does not change its arguments.
type given func(want *unstructured.Unstructured, live client.Object) *unstructured.Unstructured
