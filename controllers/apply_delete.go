package controllers

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// DeletionPeriod is how long the operator waits for deletion events before it first checks whether the objects are gone.
const DeletionPeriod = 2 * time.Second

// noVersion is a resource version that no object has, because etcd's first revision is empty. If the object exists, an apply with this
// version fails with a conflict.
const noVersion = "1"

// Apply writes a child using server-side apply, and returns the stored child. The UID of an existing child keeps the apply from changing a
// newer object with the same name. If live is nil, the API server creates the child, or responds with a conflict if an object with this
// name exists.
func Apply(ctx context.Context, writer client.Writer, c objects.Child, live client.Object) (client.Object, error) {
	options := []client.PatchOption{client.FieldOwner(objects.FieldOwner)}
	uid, version := types.UID(""), noVersion
	if live != nil {
		uid, version = live.GetUID(), ""
		options = append(options, client.ForceOwnership)
	}
	body, err := c.Body(uid, version)
	if err != nil {
		return nil, err
	}
	after := c.NewObject()
	after.SetNamespace(c.Key.Namespace)
	after.SetName(c.Key.Name)
	if err := writer.Patch(ctx, after, client.RawPatch(types.ApplyPatchType, body), options...); err != nil {
		return nil, &objects.RequestError{Action: objects.Applying, Kind: c.Kind, Key: c.Key, Err: err}
	}
	return after, nil
}

// DeleteChild deletes an object and its dependents. Foreground deletion removes the object after its dependents. DeleteChild does nothing
// if the object is already being deleted. It fails if the object exists only in a stale cache.
func DeleteChild(ctx context.Context, writer client.Writer, live client.Object, order metav1.DeletionPropagation) error {
	if !live.GetDeletionTimestamp().IsZero() {
		return nil
	}
	uid, version := live.GetUID(), live.GetResourceVersion()
	err := writer.Delete(ctx, live,
		client.PropagationPolicy(order),
		client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil {
		return &objects.RequestError{Action: objects.Deleting, Kind: kindOf(live), Key: client.ObjectKeyFromObject(live), Err: err}
	}
	return nil
}

// kindOf returns the kind of an object: the name of its Go type, unless the object is unstructured.
func kindOf(object client.Object) string {
	if kind := object.GetObjectKind().GroupVersionKind().Kind; kind != "" {
		return kind
	}
	return reflect.TypeOf(object).Elem().Name()
}

// DeleteCompanion deletes a companion, but does not delete a different pod with the same name. It does nothing if the companion is already
// being deleted.
func DeleteCompanion(ctx context.Context, writer client.Writer, pod *corev1.Pod) error {
	if !pod.DeletionTimestamp.IsZero() {
		return nil
	}
	err := writer.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the companion %s: %w", pod.Name, err)
	}
	return nil
}
