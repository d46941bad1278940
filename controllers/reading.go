package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// find reads an object. It returns nil if the object does not exist, or if its name is empty.
func find[T client.Object](ctx context.Context, reader client.Reader, key client.ObjectKey, object T) (T, error) {
	var none T
	if key.Name == "" {
		return none, nil
	}
	if err := reader.Get(ctx, key, object); err != nil {
		return none, client.IgnoreNotFound(err)
	}
	return object, nil
}

// podsIn returns the pods in a cache or the API server. The convert argument names the cache: objects.PodOf or objects.LabeledPodOf.
func podsIn[T any](ctx context.Context, reader client.Reader, convert func(*corev1.Pod) *T, which ...client.ListOption) ([]*T, error) {
	list := &corev1.PodList{}
	if err := reader.List(ctx, list, which...); err != nil {
		return nil, err
	}
	pods := make([]*T, len(list.Items))
	for i := range list.Items {
		pods[i] = convert(&list.Items[i])
	}
	return pods, nil
}

// readChild returns the object that has a child's name, or nil if there is none.
func readChild(ctx context.Context, reader client.Reader, c objects.Child) (client.Object, error) {
	live, err := find(ctx, reader, c.Key, c.NewObject())
	if err != nil {
		return nil, &objects.RequestError{Action: "read", Kind: c.Kind, Key: c.Key, Err: err}
	}
	return live, nil
}

// childReader reads a child of an Echo: readControlled, readOwned, or readLive.
type childReader func(context.Context, client.Reader, *v1.Echo, objects.Child) (client.Object, error)

// readControlled reads a child. It returns nil if the child does not exist, or if the Echo does not control it.
func readControlled(ctx context.Context, reader client.Reader, echo *v1.Echo, c objects.Child) (client.Object, error) {
	live, err := readChild(ctx, reader, c)
	if err != nil || live == nil || !metav1.IsControlledBy(live, echo) {
		return nil, err
	}
	return live, nil
}

// readOwned returns a child. It returns nil if the child does not exist, and a NameConflictError if another object has its name. The cache
// holds only objects with the operator's labels and may lag. readOwned therefore asks the API server before it reports an object as absent,
// so that the operator never takes over an unknown object.
func (d *Dependencies) readOwned(ctx context.Context, cached client.Reader, echo *v1.Echo, c objects.Child) (client.Object, error) {
	live, err := readControlled(ctx, cached, echo, c)
	if err != nil || live != nil || c.Desired == nil { // if nothing is created, nothing can be taken over
		return live, err
	}
	return readLive(ctx, d.Live, echo, c)
}

// readLive returns a child from the API server, which also holds a child whose labels another client removed. It returns nil if the child
// does not exist, and a NameConflictError if another object has the name of a desired child.
func readLive(ctx context.Context, live client.Reader, echo *v1.Echo, c objects.Child) (client.Object, error) {
	object, err := readChild(ctx, live, c)
	if err != nil || object == nil || metav1.IsControlledBy(object, echo) {
		return object, err
	}
	if c.Desired != nil {
		err = &objects.NameConflictError{Kind: c.Kind, Name: object.GetName(), For: "Echo",
			Advice: "Delete it, or create an Echo with another name."}
	}
	return nil, err
}
