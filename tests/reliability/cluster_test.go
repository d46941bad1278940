package reliability

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// cluster is a simulated API server, with the parts of the Deployment controller and the garbage collector that an Echo depends on.
// The fake client has neither UIDs nor generations; cluster adds them.
type cluster struct {
	client.WithWatch
	// versions holds what was stored under each kind and name, the newest last; nil stands for a deletion.
	versions map[string][]client.Object
	commits  int
	uids     int
	// broken are the promises of the operator that a write broke, whatever the state at the end.
	broken []string
}

// testScheme has only the kinds that are needed: the fake client takes twice as long with all.
var testScheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
})

func newCluster() *cluster {
	c := &cluster{versions: map[string][]client.Object{}}
	plain := fake.NewClientBuilder().WithScheme(testScheme()).WithStatusSubresource(&v1.Echo{}, &appsv1.Deployment{}).
		WithGlobalResourceVersionCounter().WithReturnManagedFields().Build()
	c.WithWatch = interceptor.NewClient(plain, interceptor.Funcs{
		Create: c.create, Update: c.update, Patch: c.patch, Apply: c.apply, Delete: c.delete, SubResourcePatch: c.patchStatus,
		SubResourceUpdate: func(ctx context.Context, k client.Client, part string, object client.Object, options ...client.SubResourceUpdateOption) error {
			return c.commit(ctx, object, k.SubResource(part).Update(ctx, object, options...))
		},
	})
	return c
}

func key(object client.Object) string {
	return fmt.Sprintf("%T %s/%s", object, object.GetNamespace(), object.GetName())
}

// commit records what is stored of an object after a write.
func (c *cluster) commit(ctx context.Context, object client.Object, err error) error {
	if err != nil {
		return err
	}
	stored := object.DeepCopyObject().(client.Object)
	switch err := c.Get(ctx, client.ObjectKeyFromObject(object), stored); {
	case apierrors.IsNotFound(err):
		stored = nil
	case err != nil:
		return err
	}
	if _, isEcho := object.(*v1.Echo); isEcho && stored == nil {
		c.expectNoChildren()
	}
	c.commits++
	c.versions[key(object)] = append(c.versions[key(object)], stored)
	return nil
}

// expectNoChildren records that an Echo went before what was created for it.
func (c *cluster) expectNoChildren() {
	for name, versions := range c.versions {
		if latest := versions[len(versions)-1]; latest != nil && metav1.GetControllerOf(latest) != nil {
			c.broken = append(c.broken, "the Echo is gone before "+name)
		}
	}
}

func (c *cluster) nextUID() types.UID {
	c.uids++
	return types.UID(fmt.Sprintf("uid-%d", c.uids))
}

func (c *cluster) create(ctx context.Context, k client.WithWatch, object client.Object, options ...client.CreateOption) error {
	object.SetUID(c.nextUID())
	object.SetGeneration(1)
	return c.commit(ctx, object, k.Create(ctx, object, options...))
}

func (c *cluster) update(ctx context.Context, k client.WithWatch, object client.Object, options ...client.UpdateOption) error {
	return c.commit(ctx, object, k.Update(ctx, object, options...))
}

func (c *cluster) patch(ctx context.Context, k client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.commit(ctx, object, k.Patch(ctx, object, patch, options...))
}

func (c *cluster) patchStatus(ctx context.Context, k client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	return c.commit(ctx, object, k.SubResource(part).Patch(ctx, object, patch, options...))
}

// apply checks the UID as the API server does, and raises the generation if the spec changes.
func (c *cluster) apply(ctx context.Context, k client.WithWatch, configuration runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	want := &unstructured.Unstructured{}
	text, err := json.Marshal(configuration)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &want.Object); err != nil {
		return err
	}
	before, err := c.typed(ctx, want)
	if err != nil {
		return err
	}
	if want.GetUID() != "" && (before == nil || before.GetUID() != want.GetUID()) {
		return apierrors.NewConflict(schema.GroupResource{Resource: want.GetKind()}, want.GetName(), fmt.Errorf("precondition failed: UID"))
	}
	if before != nil && metav1.GetControllerOf(before) == nil {
		c.broken = append(c.broken, "an object of somebody else was changed: "+key(before))
	}
	if err := k.Apply(ctx, configuration, options...); err != nil {
		return err
	}
	after, err := c.typed(ctx, want)
	if err != nil {
		return err
	}
	if before == nil {
		after.SetUID(c.nextUID())
	}
	if before == nil || !equality.Semantic.DeepEqual(specOf(before), specOf(after)) {
		after.SetGeneration(after.GetGeneration() + 1)
	}
	disownStatus(after)
	if err := k.Update(ctx, after); err != nil {
		return err
	}
	answer := configuration.(client.Object)
	answer.SetResourceVersion(after.GetResourceVersion())
	answer.SetGeneration(after.GetGeneration())
	answer.SetUID(after.GetUID())
	return c.commit(ctx, after, nil)
}

// disownStatus removes the status from the managed fields of an object. The fake client adds an empty one to what is applied, because
// it applies Go types.
func disownStatus(object client.Object) {
	entries := object.GetManagedFields()
	for i := range entries {
		fields := map[string]any{}
		if err := json.Unmarshal(entries[i].FieldsV1.GetRawBytes(), &fields); err != nil {
			panic(err)
		}
		delete(fields, "f:status")
		text, err := json.Marshal(fields)
		if err != nil {
			panic(err)
		}
		entries[i].FieldsV1 = metav1.NewFieldsV1(string(text))
	}
	object.SetManagedFields(entries)
}

// typed returns the stored object of a kind and name, nil if there is none.
func (c *cluster) typed(ctx context.Context, named *unstructured.Unstructured) (client.Object, error) {
	object, err := testScheme().New(named.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	stored := object.(client.Object)
	err = c.Get(ctx, client.ObjectKeyFromObject(named), stored)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // that there is no such object is an answer
	}
	return stored, err
}

func specOf(object client.Object) any {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return o.Spec
	case *corev1.Service:
		return o.Spec
	case *policyv1.PodDisruptionBudget:
		return o.Spec
	default:
		return nil
	}
}

func (c *cluster) delete(ctx context.Context, k client.WithWatch, object client.Object, options ...client.DeleteOption) error {
	all := (&client.DeleteOptions{}).ApplyOptions(options)
	stored := object.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), stored); err != nil {
		return err
	}
	if p := all.Preconditions; p != nil && (p.UID != nil && *p.UID != stored.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != stored.GetResourceVersion()) {
		return apierrors.NewConflict(schema.GroupResource{Resource: key(object)}, object.GetName(), fmt.Errorf("precondition failed"))
	}
	return c.commit(ctx, object, k.Delete(ctx, stored))
}

// rollOut does what the Deployment controller and the kubelet do. It reports whether there was anything to do.
func (c *cluster) rollOut(t *testing.T) bool {
	t.Helper()
	list := &appsv1.DeploymentList{}
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	worked := false
	for i := range list.Items {
		d := &list.Items[i]
		want := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: *d.Spec.Replicas, UpdatedReplicas: *d.Spec.Replicas,
			ReadyReplicas: *d.Spec.Replicas, AvailableReplicas: *d.Spec.Replicas,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}}
		if equality.Semantic.DeepEqual(d.Status, want) {
			continue
		}
		d.Status, worked = want, true
		if err := c.Status().Update(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	return worked
}

// state returns all stored objects without what differs between two runs of the same scenario: versions, UIDs and times.
func (c *cluster) state(t *testing.T) map[string]any {
	t.Helper()
	all := map[string]any{}
	for name, versions := range c.versions {
		latest := versions[len(versions)-1]
		if latest == nil {
			continue
		}
		o := latest.DeepCopyObject().(client.Object)
		o.SetResourceVersion("")
		o.SetUID("")
		o.SetGeneration(0)
		o.SetManagedFields(nil)
		o.SetCreationTimestamp(metav1.Time{})
		owners := o.GetOwnerReferences()
		for i := range owners {
			owners[i].UID = ""
		}
		maskStatus(o)
		all[name] = o
	}
	return all
}

func maskStatus(object client.Object) {
	switch o := object.(type) {
	case *v1.Echo:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = metav1.Time{}
			o.Status.Conditions[i].ObservedGeneration -= o.Status.ObservedGeneration
		}
	case *appsv1.Deployment:
		o.Status.ObservedGeneration = 0
	}
}
