package controllers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/telemetry"
	"github.com/echo-operator/echo-operator/tests/support"
)

// World consists of a fake API server, and caches that may differ from it. It simulates errors and delays that tests cannot cause in a real
// API server. Like the operator's caches, its caches keep only the parts of objects that the operator reads.
type World struct {
	Server, Cache client.WithWatch
	Dependencies  Dependencies
	// Writes contains the write requests that the server received, for example "apply Service", "patch status", or "delete x".
	Writes []string
	// Fail returns the error for a write, or nil if the write must succeed.
	Fail func(write string) error

	recorder *events.FakeRecorder
	// labeled reads the pods with a companion label.
	labeled client.WithWatch
}

// New returns a world whose cache and API server contain the same objects.
func New(t *testing.T, objects ...client.Object) *World {
	t.Helper()
	w := NewLate(t, objects, objects)
	w.fillCaches(w.Server)
	return w
}

// NewLate returns a world whose cache and API server contain different objects.
func NewLate(t *testing.T, cached, live []client.Object) *World {
	t.Helper()
	w := &World{recorder: events.NewFakeRecorder(100), Fail: func(string) error { return nil }}
	w.Server = w.start(t, live)
	w.Dependencies = Dependencies{
		Live:     w.Server,
		Recorder: w.recorder,
		Images:   objects.Images{EchoServer: "quay.io/echo-operator/echo-server:v1"},
		Metrics:  telemetry.NewMetrics(time.Now),
		Policy:   objects.Policy{MaxReplicas: 20},
		Now:      func() time.Time { return time.Unix(1000, 0) },
	}
	w.fillCaches(w.start(t, cached))
	return w
}

// fillCaches makes the caches hold what the operator's caches would keep of a client's objects. Writes go to the client.
func (w *World) fillCaches(c client.WithWatch) {
	w.Cache, w.labeled = Stripped(c, objects.Strip), Stripped(c, objects.StripLabeledPod)
	w.Dependencies.Client = w.Cache
}

// Stripped returns a client that applies a cache's transform to all objects that it reads.
func Stripped(c client.WithWatch, transform toolscache.TransformFunc) client.WithWatch {
	return watched(c, func(string, any) error { return nil }, func(object runtime.Object) error {
		kept, err := transform(object)
		reflect.ValueOf(object).Elem().Set(reflect.ValueOf(kept).Elem())
		return err
	})
}

// watched returns a client that calls functions before each read, with the verb and the object, and for each object that it read.
func watched(c client.WithWatch, before func(verb string, object any) error, after func(runtime.Object) error) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := cmp.Or(before("get", object), c.Get(ctx, key, object, options...)); err != nil {
				return err
			}
			return after(object)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := cmp.Or(before("list", list), c.List(ctx, list, options...)); err != nil {
				return err
			}
			return meta.EachListItem(list, after)
		},
	})
}

// kept returns a copy of what the cache keeps of an object.
func kept(object client.Object) client.Object {
	stripped, err := objects.Strip(object.DeepCopyObject())
	if err != nil {
		panic(err)
	}
	return stripped.(client.Object)
}

// FailOn makes all writes with the given name fail. The name has the form of an entry in Writes.
func (w *World) FailOn(name string, err error) {
	w.Fail = func(write string) error {
		if write == name {
			return err
		}
		return nil
	}
}

func (w *World) start(t *testing.T, objects []client.Object) client.WithWatch {
	t.Helper()
	scheme, err := support.Scheme()
	NewWithT(t).Expect(errors.Join(err, gatewayv1.Install(scheme))).To(Succeed())
	copies := make([]client.Object, 0, len(objects))
	for _, o := range objects {
		copies = append(copies, o.DeepCopyObject().(client.Object))
	}
	builder := fake.NewClientBuilder()
	for name, index := range podIndexes() {
		builder.WithIndex(&corev1.Pod{}, name, func(o client.Object) []string { return index(kept(o)) })
	}
	return builder.WithScheme(scheme).WithObjects(copies...).WithStatusSubresource(&v1.Echo{}).
		WithIndex(&corev1.Node{}, metav1.ObjectNameField, func(o client.Object) []string { return []string{o.GetName()} }).
		WithInterceptorFuncs(w.interceptor()).Build()
}

// interceptor records writes, and can make writes fail.
func (w *World) interceptor() interceptor.Funcs {
	write := func(name string) error {
		w.Writes = append(w.Writes, name)
		return w.Fail(name)
	}
	return interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := write("delete " + object.GetName()); err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if patch.Type() == types.ApplyPatchType { // other tests send apply requests to a real API server
				body, err := patch.Data(object)
				return errors.Join(err, write("apply "+reflect.TypeOf(object).Elem().Name()), json.Unmarshal(body, object))
			}
			if err := write("patch " + object.GetName()); err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, part string, object client.Object, patch client.Patch,
			options ...client.SubResourcePatchOption) error {
			if err := write("patch " + part); err != nil {
				return err
			}
			return c.SubResource(part).Patch(ctx, object, patch, options...)
		},
	}
}

// Events returns the events that were sent.
func (w *World) Events() []string {
	var all []string
	for {
		select {
		case e := <-w.recorder.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// StoredEcho returns an Echo as the API server would store it.
func StoredEcho(changes ...func(*v1.Echo)) *v1.Echo {
	return support.Echo("ns", "x", append([]func(*v1.Echo){func(e *v1.Echo) {
		e.UID, e.Generation, e.Finalizers = "echo-uid", 1, []string{v1.Finalizer}
	}}, changes...)...)
}

// OwnedService returns an Echo's Service as the API server would store it.
func OwnedService(owner client.Object) *corev1.Service {
	return &corev1.Service{Namespace: "ns", Name: "x", UID: "service-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1.GroupVersion.WithKind("Echo"))}}
}

// EchoPod returns a pod that belongs to an Echo's Deployment and runs on node "n".
func EchoPod() *corev1.Pod {
	return &corev1.Pod{
		Namespace: "ns", Name: "x-1", Labels: map[string]string{"app.kubernetes.io/name": "echo", "app.kubernetes.io/component": "echo-server",
			"app.kubernetes.io/instance": "x", "app.kubernetes.io/managed-by": "echo-operator"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x", UID: "r", Controller: new(true)}},
		Spec:            corev1.PodSpec{NodeName: "n"},
	}
}

// OwnerPod returns the cached form of a pod that requests a companion from Echo "x" and runs on node "n".
func OwnerPod(changes ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		Namespace: "ns", Name: "web-0", UID: "u", Labels: map[string]string{v1.CompanionLabel: "x"},
		Spec: corev1.PodSpec{NodeName: "n"},
	}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

// CompanionPod returns the companion of OwnerPod as the API server would store it.
func CompanionPod(t *testing.T) *corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	companion, err := objects.Companion(objects.LabeledPodOf(OwnerPod()), StoredEcho(),
		objects.Config{Images: objects.Images{EchoServer: "quay.io/echo-operator/echo-server:v1"}})
	g.Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(companion.Desired.Object, pod)).To(Succeed())
	pod.UID = "companion-uid"
	return pod
}

// Current returns what the cache keeps of the Echo in the API server.
func (w *World) Current(t *testing.T) *v1.Echo {
	t.Helper()
	echo := &v1.Echo{}
	NewWithT(t).Expect(w.Server.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "x"}, echo)).To(Succeed())
	return kept(echo).(*v1.Echo)
}

// ErrRefused is the error that failing requests return.
var ErrRefused = errors.New("refused")

// FailRead makes one of a world's reads fail, and returns the reads so far. Reads are numbered from 1. If number is 0, no read fails.
func (w *World) FailRead(number int) *[]string {
	reads := &[]string{}
	over := func(c client.WithWatch, from string) client.WithWatch {
		return watched(c, func(verb string, object any) error {
			*reads = append(*reads, fmt.Sprintf("%s: %s %T", from, verb, object))
			if len(*reads) == number {
				return ErrRefused
			}
			return nil
		}, func(runtime.Object) error { return nil })
	}
	w.Cache, w.labeled = over(w.Cache, "cache"), over(w.labeled, "cache")
	w.Dependencies.Client, w.Dependencies.Live = w.Cache, over(w.Server, "API server")
	return reads
}

// Labeled returns the cache of pods with a companion label. The cache supports only reads.
func (w *World) Labeled() cache.Cache { return readerCache{reader: w.labeled} }

type readerCache struct {
	cache.Cache
	reader client.Reader
}

// Get implements client.Reader.
func (c readerCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.reader.Get(ctx, key, object, options...)
}

// List implements client.Reader.
func (c readerCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.reader.List(ctx, list, options...)
}

// Updates contains updates to objects, by name. Each update records whether a predicate should select it.
type Updates map[string]struct {
	Before, After client.Object
	Selected      bool
}

// Check fails a test if a predicate does not select exactly the updates that it should.
func (u Updates) Check(t *testing.T, selects predicate.Predicate) {
	t.Helper()
	for name, c := range u {
		selected := selects.Update(event.UpdateEvent{ObjectOld: kept(c.Before), ObjectNew: kept(c.After)})
		NewWithT(t).Expect(selected).To(Equal(c.Selected), name)
	}
}
