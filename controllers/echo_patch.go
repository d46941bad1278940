package controllers

import (
	"encoding/json"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// EchoPatch is a merge patch of an Echo. The API server refuses it if the Echo is not of the resource version.
type EchoPatch struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		// Finalizers replace all.
		Finalizers *[]string `json:"finalizers,omitempty"`
	} `json:"metadata"`
	// Status holds the fields that change.
	Status json.RawMessage `json:"status,omitempty"`
}

// StatusPatch returns the patch that sets the status of an Echo.
func StatusPatch(echo *v1.Echo, status *v1.EchoStatus) (patch EchoPatch, err error) {
	var before any = &echo.Status
	if reflect.ValueOf(echo.Status).IsZero() {
		before = struct{}{} // nothing is stored, nor are counts of 0
	}
	patch.Status, err = difference(before, status)
	return patch, err
}

// Write writes a patch of an Echo. The API server answers the metadata alone, which is enough to know what was written: if a webhook changed
// the spec as well, the event starts another pass.
func (p EchoPatch) Write(echo *v1.Echo, write func(client.Object, client.Patch) error) (*metav1.PartialObjectMetadata, error) {
	p.Metadata.ResourceVersion = echo.ResourceVersion
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	answer := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: echo.Namespace, Name: echo.Name}}
	answer.SetGroupVersionKind(v1.GroupVersion.WithKind("Echo"))
	return answer, write(answer, client.RawPatch(types.MergePatchType, body))
}

// difference returns the merge patch that makes one value the other.
func difference(before, after any) (json.RawMessage, error) {
	old, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	current, err := json.Marshal(after)
	if err != nil {
		return nil, err
	}
	return jsonpatch.CreateMergePatch(old, current)
}

// SameStatus reports whether two statuses say the same. Most are identical, which the first comparison finds in a tenth of the time.
func SameStatus(a, b *v1.EchoStatus) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b)
}
