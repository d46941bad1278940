package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// echoWriter writes an Echo's finalizers and status, unless the Echo has changed since it was read.
type echoWriter struct {
	client client.Client
	// wrote, if set, is called after each write. after is the object that the API server returned.
	wrote func(before, after client.Object)
}

// echoPatch is a merge patch for an Echo. The API server rejects the patch if the Echo has a different resource version.
type echoPatch struct {
	Metadata struct {
		ResourceVersion string `json:"resourceVersion"`
		// Finalizers replaces all existing finalizers.
		Finalizers *[]string `json:"finalizers,omitempty"`
	} `json:"metadata"`
	// Status holds the fields that change.
	Status json.RawMessage `json:"status,omitempty"`
}

func (w *echoWriter) setFinalizers(ctx context.Context, echo *v1.Echo, finalizers []string) error {
	patch := echoPatch{}
	patch.Metadata.Finalizers = &finalizers
	err := w.patch(echo, patch, func(response client.Object, body client.Patch) error { return w.client.Patch(ctx, response, body) })
	if err != nil {
		return fmt.Errorf("writing the finalizers: %w", err)
	}
	echo.Finalizers = finalizers
	return nil
}

// setStatus sets an Echo's status if the new status differs from the current one.
func (w *echoWriter) setStatus(ctx context.Context, echo *v1.Echo, status *v1.EchoStatus) error {
	// In most calls, the statuses are identical, and the first comparison detects this in a tenth of the time that the second takes. A missing
	// map of pods differs from an empty map.
	if reflect.DeepEqual(&echo.Status, status) ||
		equality.Semantic.DeepEqual(&echo.Status, status) && (echo.Status.Pods == nil) == (status.Pods == nil) {
		return nil
	}
	if status.Pods == nil {
		status.Pods = map[string][]string{} // without a map, the console displays nothing
	}
	var stored any = &echo.Status
	if reflect.ValueOf(echo.Status).IsZero() {
		stored = struct{}{} // not even counts of 0
	}
	before, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	after, err := json.Marshal(status)
	if err != nil {
		return err
	}
	patch := echoPatch{}
	if patch.Status, err = jsonpatch.CreateMergePatch(before, after); err != nil {
		return err
	}
	err = w.patch(echo, patch, func(response client.Object, body client.Patch) error {
		return w.client.Status().Patch(ctx, response, body)
	})
	if err != nil {
		return err
	}
	echo.Status = *status
	return nil
}

// patch writes a patch and updates the Echo's version. The API server responds with the metadata only.
func (w *echoWriter) patch(echo *v1.Echo, patch echoPatch, write func(client.Object, client.Patch) error) error {
	patch.Metadata.ResourceVersion = echo.ResourceVersion
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	response := &metav1.PartialObjectMetadata{Namespace: echo.Namespace, Name: echo.Name}
	response.SetGroupVersionKind(v1.GroupVersion.WithKind("Echo"))
	if err := write(response, client.RawPatch(types.MergePatchType, body)); err != nil {
		return err
	}
	if w.wrote != nil {
		w.wrote(echo, response)
	}
	echo.ResourceVersion = response.ResourceVersion
	return nil
}
