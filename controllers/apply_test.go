package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/status"
)

// firstChild returns the Service of an Echo as it is wanted.
func firstChild(t *testing.T) children.Child {
	t.Helper()
	all, err := children.Of(storedEcho(), children.Config{Images: children.Images{EchoServer: "i"}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return all[0]
}

func TestApplyForcesOnlyWhatExists(t *testing.T) {
	for name, live := range map[string]client.Object{"created": nil, "corrected": ownedService(storedEcho())} {
		t.Run(name, func(t *testing.T) {
			var options client.PatchOptions
			sent := &unstructured.Unstructured{}
			writer := interceptor.NewClient(newWorld(t).server, interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, object client.Object, patch client.Patch, given ...client.PatchOption) error {
					options.ApplyOptions(given)
					body, err := patch.Data(object)
					if err != nil || patch.Type() != types.ApplyPatchType {
						return fmt.Errorf("%s: %w", patch.Type(), err)
					}
					return sent.UnmarshalJSON(body)
				}})
			after, err := apply(t.Context(), writer, firstChild(t), live)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			if _, ok := after.(*corev1.Service); !ok || options.FieldManager != "echo-operator" {
				t.Errorf("%T was applied by %q", after, options.FieldManager)
			}
			forced := options.Force != nil && *options.Force
			if forced != (live != nil) || (sent.GetUID() == "service-uid") != (live != nil) || (sent.GetResourceVersion() == "1") != (live == nil) {
				t.Errorf("forced is %t, the UID is %q, the resource version %q", forced, sent.GetUID(), sent.GetResourceVersion())
			}
		})
	}
}

func TestApplyNamesWhatCannotBeApplied(t *testing.T) {
	w := newWorld(t)
	w.fail = func(string) error { return errors.New("no") }
	_, err := apply(t.Context(), w.server, firstChild(t), nil)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("applying Service ns/x: no")))
}

// applied returns a child as the API server holds it after it was applied.
func applied(t *testing.T, c children.Child) client.Object {
	t.Helper()
	g := NewWithT(t)
	types := applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)
	server := managedfieldstest.NewTestFieldManager(types, c.Want.GroupVersionKind())
	g.Expect(server.Apply(c.Want.DeepCopy(), children.FieldOwner, true)).To(Succeed())
	object := c.Blank()
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(server.Live().(*unstructured.Unstructured).Object, object)).To(Succeed())
	return object
}

func TestEnsure(t *testing.T) {
	asWanted := applied(t, firstChild(t))
	unwanted := firstChild(t)
	unwanted.Want = nil
	for name, c := range map[string]struct {
		child   children.Child
		live    client.Object
		writes  []string
		changes int
	}{
		"missing":           {firstChild(t), nil, []string{"apply Service"}, 1},
		"different":         {firstChild(t), ownedService(storedEcho()), []string{"apply Service"}, 1},
		"as wanted":         {firstChild(t), asWanted, nil, 0},
		"unwanted":          {unwanted, ownedService(storedEcho()), []string{"delete x"}, 0},
		"unwanted, missing": {unwanted, nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var there []client.Object
			if c.child.Want == nil && c.live != nil {
				there = append(there, c.live)
				c.live.SetResourceVersion("999") // that of the first version of the fake API server
			}
			w, seen := newWorld(t, there...), status.Observation{}
			g.Expect(w.echoes().ensure(t.Context(), storedEcho(), c.child, c.live, &seen)).To(Succeed())
			g.Expect(w.writes).To(HaveExactElements(c.writes))
			g.Expect(seen.Changes).To(HaveLen(c.changes))
		})
	}
}

func TestOnlyAConflictLeadsToALiveRead(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "x", errors.New("it exists"))
	foreign := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}}
	for name, c := range map[string]struct {
		live   []client.Object
		answer error
		writes []string
		taken  bool
	}{
		"of somebody else":     {[]client.Object{foreign}, conflict, []string{"apply Service"}, true},
		"not in the cache yet": {[]client.Object{ownedService(storedEcho())}, conflict, []string{"apply Service", "apply Service"}, false},
		"gone meanwhile":       {nil, conflict, []string{"apply Service"}, false},
		"refused":              {[]client.Object{foreign}, errRefused, []string{"apply Service"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLateWorld(t, nil, c.live)
			w.fail = func(string) error { return c.answer }
			err := w.echoes().ensure(t.Context(), storedEcho(), firstChild(t), nil, &status.Observation{})
			if taken := errors.As(err, new(*children.NameConflictError)); taken != c.taken || !taken && !errors.Is(err, c.answer) {
				t.Errorf("got %v", err)
			}
			NewWithT(t).Expect(w.writes).To(HaveExactElements(c.writes))
		})
	}
}

func TestDeleteChild(t *testing.T) {
	g := NewWithT(t)
	going := ownedService(storedEcho())
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{}, []string{"example.org/theirs"}
	going.DeletionTimestamp.Time = metav1.Now().Time
	w := newWorld(t)
	remove := func(live client.Object) error {
		return deleteChild(t.Context(), w.server, live, metav1.DeletePropagationForeground)
	}
	g.Expect(remove(going)).To(Succeed())
	g.Expect(w.writes).To(BeNil())
	g.Expect(remove(ownedService(storedEcho()))).To(Satisfy(apierrors.IsNotFound), "one that is gone")
	w.fail = func(string) error { return errors.New("no") }
	g.Expect(remove(ownedService(storedEcho()))).To(MatchError(ContainSubstring("ns/x")), "one that cannot be deleted")
}

func TestAddFinalizerIsWrittenOnce(t *testing.T) {
	g := NewWithT(t)
	echo := storedEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} })
	w := newWorld(t, echo)
	g.Expect(w.server.Get(t.Context(), client.ObjectKeyFromObject(echo), echo)).To(Succeed())
	for range 2 {
		g.Expect(w.echoes().addFinalizer(t.Context(), echo)).To(Succeed())
	}
	g.Expect(w.writes).To(HaveExactElements("patch x"))
	g.Expect(echo.Finalizers).To(HaveExactElements("example.org/theirs", v1.Finalizer))
}

func TestFinalizersAreNotWrittenOverANewerEcho(t *testing.T) {
	old := storedEcho(func(e *v1.Echo) { e.ResourceVersion, e.Finalizers = "1", nil })
	w := newWorld(t, storedEcho(func(e *v1.Echo) { e.Finalizers = nil }))
	NewWithT(t).Expect(w.echoes().addFinalizer(t.Context(), old)).To(Satisfy(apierrors.IsConflict))
}
