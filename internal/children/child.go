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

// Child is an object that belongs or could belong to an Echo.
type Child struct {
	Kind string
	Key  client.ObjectKey
	// NewObject returns an empty object of the kind, to read into.
	NewObject func() client.Object
	// Desired holds the fields that the operator sets, and no others. It is nil if there should be no such object.
	Desired *unstructured.Unstructured
	// Optional is true if the cluster may not serve the kind.
	Optional bool
	// RunsPods is true if the Echo's pods belong to the object.
	RunsPods bool
	// Recreate reports whether an object that differs must be recreated. It is nil if the kind is always updated.
	Recreate Recreate
	// MergeLive completes the desired object from the live object. It is nil if there is nothing to complete.
	MergeLive MergeLive
	// MayBeRejected is true if the API server may reject the recreated object.
	MayBeRejected bool
}

// WithLive returns a child with the items that the API server added to a list that is set as a whole, so that applying the child does not
// remove them.
func (c Child) WithLive(live client.Object) Child {
	if c.MergeLive != nil && c.Desired != nil {
		c.Desired = c.MergeLive(c.Desired, live)
	}
	return c
}

// DryRunCopy returns a copy of a child under a different name, to ask the API server whether it would accept the child. It is nil if there
// is no doubt.
func (c Child) DryRunCopy() *unstructured.Unstructured {
	const suffix = "-trial"
	if !c.MayBeRejected {
		return nil
	}
	dryRun := c.Desired.DeepCopy()
	dryRun.SetName(c.Key.Name[:min(len(c.Key.Name), validation.DNS1035LabelMaxLength-len(suffix))] + suffix)
	return dryRun
}

// Body returns the desired object as JSON that is also valid YAML, with a UID and a resource version. Both can be empty.
func (c Child) Body(uid types.UID, resourceVersion string) ([]byte, error) {
	object := maps.Clone(c.Desired.Object)
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

// Recreate reports whether an object must be recreated, given its desired JSON, its live JSON, and the fields that the operator owns.
type Recreate func(desired, live map[string]any, owned *fieldpath.Set) bool

// MergeLive returns the desired object, completed from the live object. It does not change its arguments.
type MergeLive func(desired *unstructured.Unstructured, live client.Object) *unstructured.Unstructured
