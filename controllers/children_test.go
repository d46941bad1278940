package controllers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/client-go/applyconfigurations"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

func TestConverge_writesNothingIfRejectedOrPaused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*v1.Echo)
		refused bool
	}{
		"refused": {func(e *v1.Echo) { e.Spec.Replicas = new(int32(21)) }, true},
		"paused":  {func(e *v1.Echo) { e.Spec.Paused = true }, false},
	} {
		w := New(t, StoredEcho(c.change))
		_, err := echoReconciler(w).converge(t.Context(), w.Current(t))
		if w.Writes != nil || c.refused != errors.As(err, new(*objects.InvalidSpecError)) {
			t.Errorf("%s: the reconcile wrote %v: %v", name, w.Writes, err)
		}
	}
}

func TestConverge_writesFinalizerFirst(t *testing.T) {
	w := New(t, StoredEcho(func(e *v1.Echo) { e.Finalizers = nil }))
	NewWithT(t).Expect(echoReconciler(w).converge(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	if want := []string{"patch x", "apply Service", "apply Deployment", "apply PodDisruptionBudget"}; !slices.Equal(w.Writes, want) {
		t.Errorf("the reconcile wrote %v", w.Writes)
	}
}

func TestConverge_failedWriteEndsReconcile(t *testing.T) {
	g := NewWithT(t)
	for write, want := range map[string][]string{
		"patch x":          {"patch x"},
		"apply Service":    {"patch x", "apply Service"},
		"apply Deployment": {"patch x", "apply Service", "apply Deployment"},
	} {
		w := New(t, StoredEcho(func(e *v1.Echo) { e.Finalizers = nil }))
		w.FailOn(write, errors.New("no"))
		_, err := echoReconciler(w).converge(t.Context(), w.Current(t))
		g.Expect(err).To(HaveOccurred(), "after %s", write)
		g.Expect(w.Writes).To(HaveExactElements(want), "after %s", write)
	}
}

func TestConverge_failedReadPreventsWrites(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
	echo := w.Current(t)
	r := echoReconciler(w)
	r.Client = interceptor.NewClient(w.Cache, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no")
		}})
	g.Expect(r.converge(t.Context(), echo)).Error().To(HaveOccurred())
	g.Expect(w.Writes).To(BeNil())
}

func TestReconcile_failureIsInStatus(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
	w.FailOn("apply Service", errors.New("no"))
	g.Expect(failing(w).reconcile(t.Context(), w.Current(t))).Error().To(HaveOccurred(), "the failure is hidden from the queue")
	got := w.Current(t).Status
	g.Expect(got.Phase).To(Equal(v1.PhaseWarning))
	g.Expect(got.Conditions[0].Reason).To(Equal(v1.ReasonApplyFailed.String()))
}

// firstChild returns the desired Service of an Echo.
func firstChild(t *testing.T) objects.Child {
	t.Helper()
	all, err := objects.Desired(StoredEcho(), objects.Config{Images: objects.Images{EchoServer: "i"}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return all[0]
}

// applied returns a child as the API server stores it after an apply.
func applied(t *testing.T, c objects.Child) client.Object {
	t.Helper()
	g := NewWithT(t)
	types := applyconfigurations.NewTypeConverter(clientgoscheme.Scheme)
	server := managedfieldstest.NewTestFieldManager(types, c.Desired.GroupVersionKind())
	g.Expect(server.Apply(c.Desired.DeepCopy(), objects.FieldOwner, true)).To(Succeed())
	object := c.NewObject()
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(server.Live().(*unstructured.Unstructured).Object, object)).To(Succeed())
	return object
}

func TestEnsure(t *testing.T) {
	desired := applied(t, firstChild(t))
	unwanted := firstChild(t)
	unwanted.Desired = nil
	for name, c := range map[string]struct {
		child  objects.Child
		live   client.Object
		writes []string
	}{
		"missing":           {firstChild(t), nil, []string{"apply Service"}},
		"different":         {firstChild(t), OwnedService(StoredEcho()), []string{"apply Service"}},
		"as desired":        {firstChild(t), desired, nil},
		"unwanted":          {unwanted, OwnedService(StoredEcho()), []string{"delete x"}},
		"unwanted, missing": {unwanted, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var there []client.Object
			if c.child.Desired == nil && c.live != nil {
				there = append(there, c.live)
				c.live.SetResourceVersion("999") // the fake API server's first resource version
			}
			w, ensured := New(t, there...), ensuredChild{child: c.child, before: c.live}
			g.Expect(echoReconciler(w).ensureChild(t.Context(), StoredEcho(), &ensured)).To(Succeed())
			g.Expect(w.Writes).To(HaveExactElements(c.writes))
		})
	}
}

func TestEnsureChild_readsLiveOnlyAfterConflict(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "x", errors.New("it exists"))
	foreign := &corev1.Service{Namespace: "ns", Name: "x"}
	for name, c := range map[string]struct {
		live   []client.Object
		answer error
		writes []string
		taken  bool
	}{
		"of another owner": {[]client.Object{foreign}, conflict, []string{"apply Service"}, true},
		"not in the cache yet": {[]client.Object{OwnedService(StoredEcho())}, conflict,
			[]string{"apply Service", "apply Service"}, false},
		"gone meanwhile": {nil, conflict, []string{"apply Service"}, false},
		"refused":        {[]client.Object{foreign}, ErrRefused, []string{"apply Service"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewLate(t, nil, c.live)
			w.Fail = func(string) error { return c.answer }
			err := echoReconciler(w).ensureChild(t.Context(), StoredEcho(), &ensuredChild{child: firstChild(t)})
			if taken := errors.As(err, new(*objects.NameConflictError)); taken != c.taken || !taken && !errors.Is(err, c.answer) {
				t.Errorf("got %v", err)
			}
			NewWithT(t).Expect(w.Writes).To(HaveExactElements(c.writes))
		})
	}
}

func TestAddFinalizer_writesOnce(t *testing.T) {
	g := NewWithT(t)
	echo := StoredEcho(func(e *v1.Echo) { e.Finalizers = []string{"example.org/theirs"} })
	w := New(t, echo)
	g.Expect(w.Server.Get(t.Context(), client.ObjectKeyFromObject(echo), echo)).To(Succeed())
	for range 2 {
		g.Expect(echoReconciler(w).addFinalizer(t.Context(), echo)).To(Succeed())
	}
	g.Expect(w.Writes).To(HaveExactElements("patch x"))
	g.Expect(echo.Finalizers).To(HaveExactElements("example.org/theirs", v1.Finalizer))
}

func TestAddFinalizer_rejectsOutdatedEcho(t *testing.T) {
	old := StoredEcho(func(e *v1.Echo) { e.ResourceVersion, e.Finalizers = "1", nil })
	w := New(t, StoredEcho(func(e *v1.Echo) { e.Finalizers = nil }))
	NewWithT(t).Expect(echoReconciler(w).addFinalizer(t.Context(), old)).To(Satisfy(apierrors.IsConflict))
}

// TestConverge_correctsContestedFieldLessOften simulates another client that undoes each correction for ten minutes. The fake API server does
// not store what is applied.
func TestConverge_correctsContestedFieldLessOften(t *testing.T) {
	g := NewWithT(t)
	deployment := &appsv1.Deployment{ObjectMeta: *OwnedService(StoredEcho()).ObjectMeta.DeepCopy(),
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
	w := New(t, StoredEcho(), OwnedService(StoredEcho()), deployment)
	now := w.Dependencies.Now()
	w.Dependencies.Now = func() time.Time { return now }
	r := echoReconciler(w)
	corrections := func() int {
		g.Expect(strings.Count(strings.Join(w.Writes, "|"), "apply Deployment")).To(
			Equal(strings.Count(strings.Join(w.Writes, "|"), "apply Service")), "both children are contested")
		return strings.Count(strings.Join(w.Writes, "|"), "apply Service")
	}
	for i := range 600 {
		g.Expect(r.reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
		w.Events() // makes room for more
		if i == 1 {
			g.Expect(corrections()).To(Equal(2), "the first corrections are immediate")
		}
		now = now.Add(time.Second)
	}
	g.Expect(corrections()).To(BeNumerically("<=", 10))
	g.Expect(w.Current(t).Status.Message).To(ContainSubstring("Another client keeps changing metadata"))
	now = now.Add(longestCorrectionWait)
	seen, err := r.converge(t.Context(), w.Current(t))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(seen.CorrectedAfter).To(Equal(longestCorrectionWait))
	changed := w.Current(t)
	changed.Generation++
	before := corrections()
	g.Expect(r.converge(t.Context(), changed)).Error().NotTo(HaveOccurred())
	g.Expect(corrections()).To(Equal(before+1), "a new spec is applied at once")
}
