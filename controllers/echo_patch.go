package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// echoPatch is a merge patch of an Echo. The API server refuses it if the Echo is not of the resource version.
type echoPatch struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		// Finalizers replace all.
		Finalizers *[]string `json:"finalizers,omitempty"`
	} `json:"metadata"`
	// Status holds the fields that change.
	Status json.RawMessage `json:"status,omitempty"`
}

// patchFinalizers sets the finalizers of an Echo, unless the Echo has changed since it was read.
func (r *EchoReconciler) patchFinalizers(ctx context.Context, echo *v1.Echo, finalizers []string) error {
	patch := echoPatch{}
	patch.Metadata.Finalizers = &finalizers
	err := r.patchEcho(echo, patch, func(answer client.Object, body client.Patch) error { return r.Client.Patch(ctx, answer, body) })
	if err != nil {
		return fmt.Errorf("writing the finalizers: %w", err)
	}
	echo.Finalizers = finalizers
	return nil
}

// patchStatus sets the status of an Echo, unless the Echo has changed since it was read.
func (r *EchoReconciler) patchStatus(ctx context.Context, echo *v1.Echo, status v1.EchoStatus) error {
	patch, err := statusPatch(echo, &status)
	if err != nil {
		return fmt.Errorf("comparing the status: %w", err)
	}
	err = r.patchEcho(echo, patch, func(answer client.Object, body client.Patch) error { return r.Client.Status().Patch(ctx, answer, body) })
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	echo.Status = status
	return nil
}

// statusPatch returns the patch that sets the status of an Echo.
func statusPatch(echo *v1.Echo, status *v1.EchoStatus) (patch echoPatch, err error) {
	var before any = &echo.Status
	if reflect.ValueOf(echo.Status).IsZero() {
		before = struct{}{} // nothing is stored, nor are counts of 0
	}
	patch.Status, err = difference(before, status)
	return patch, err
}

// patchEcho writes a patch and updates the version of the Echo.
func (r *EchoReconciler) patchEcho(echo *v1.Echo, patch echoPatch, write func(client.Object, client.Patch) error) error {
	answer, err := patch.write(echo, write)
	if err != nil {
		return err
	}
	if answer.Generation == echo.Generation {
		r.own.wrote(client.ObjectKeyFromObject(echo), echo, answer, r.Now())
	}
	echo.ResourceVersion = answer.ResourceVersion
	return nil
}

// write writes a patch of an Echo. The API server answers the metadata alone, which is enough to know what was written: if a webhook changed
// the spec as well, the event starts another pass.
func (p echoPatch) write(echo *v1.Echo, write func(client.Object, client.Patch) error) (*metav1.PartialObjectMetadata, error) {
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
