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
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/status"
)

// EchoWriter writes an Echo's finalizers and status, unless the Echo has changed since it was read.
type EchoWriter struct {
	Client client.Client
	// Wrote, if set, is called after each write. after is the object that the API server returned.
	Wrote func(echo client.ObjectKey, before, after client.Object)
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

// SetFinalizers sets an Echo's finalizers.
func (w *EchoWriter) SetFinalizers(ctx context.Context, echo *v1.Echo, finalizers []string) error {
	patch := echoPatch{}
	patch.Metadata.Finalizers = &finalizers
	err := w.patch(echo, patch, func(response client.Object, body client.Patch) error { return w.Client.Patch(ctx, response, body) })
	if err != nil {
		return fmt.Errorf("writing the finalizers: %w", err)
	}
	echo.Finalizers = finalizers
	return nil
}

// SetStatus sets an Echo's status if the new status differs from the current one.
func (w *EchoWriter) SetStatus(ctx context.Context, echo *v1.Echo, status *v1.EchoStatus) error {
	if SameStatus(&echo.Status, status) {
		return nil
	}
	if status.Pods == nil {
		status.Pods = map[string][]string{} // without a map, the console displays nothing
	}
	patch, err := statusPatch(echo, status)
	if err != nil {
		return err
	}
	err = w.patch(echo, patch, func(response client.Object, body client.Patch) error {
		return w.Client.Status().Patch(ctx, response, body)
	})
	if err != nil {
		return err
	}
	echo.Status = *status
	return nil
}

// patch writes a patch and updates the Echo's version. The API server responds with the metadata only.
func (w *EchoWriter) patch(echo *v1.Echo, patch echoPatch, write func(client.Object, client.Patch) error) error {
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
	if w.Wrote != nil {
		w.Wrote(client.ObjectKeyFromObject(echo), echo, response)
	}
	echo.ResourceVersion = response.ResourceVersion
	return nil
}

// statusPatch returns the patch that sets an Echo's status.
func statusPatch(echo *v1.Echo, status *v1.EchoStatus) (patch echoPatch, err error) {
	var before any = &echo.Status
	if reflect.ValueOf(echo.Status).IsZero() {
		before = struct{}{} // nothing is stored yet, not even counts of 0
	}
	patch.Status, err = difference(before, status)
	return patch, err
}

// difference returns the merge patch that turns the first value into the second.
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

// SameStatus reports whether two statuses are equal. In most calls, they are identical, and the first comparison detects this in a tenth of
// the time that the second takes. A missing map of pods differs from an empty map.
func SameStatus(a, b *v1.EchoStatus) bool {
	return reflect.DeepEqual(a, b) || equality.Semantic.DeepEqual(a, b) && (a.Pods == nil) == (b.Pods == nil)
}

// PublishStatus writes an Echo's status if it has changed, and then reports transitions. The API server rejects a status that was computed
// from an old version of the Echo, so no transition is reported twice.
func (d *Dependencies) PublishStatus(
	ctx context.Context, writer *EchoWriter, echo *v1.Echo, current *v1.EchoStatus, transitions []status.Transition,
) error {
	if err := writer.SetStatus(ctx, echo, current); err != nil {
		return err
	}
	d.SendEvents(ctx, echo, transitions...)
	return nil
}

// SendEvents reports transitions as events and in the log.
func (d *Dependencies) SendEvents(ctx context.Context, echo *v1.Echo, transitions ...status.Transition) {
	for _, t := range transitions {
		log.FromContext(ctx).Info(t.Note, "reason", t.Reason.String())
		d.SendEvent(echo, t)
	}
}

// SendEvent reports a transition of an object as an event.
func (d *Dependencies) SendEvent(regarding client.Object, t status.Transition) {
	d.Recorder.Eventf(regarding, t.Related, t.Reason.EventType(), t.Reason.String(), t.Action, "%s", t.EventNote())
}
