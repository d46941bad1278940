package apply

import (
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/applyconfigurations"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// stored is an object in a fake API server that supports server-side apply, but neither defaulting nor validation.
type stored struct {
	child  objects.Child
	fields managedfieldstest.TestFieldManager
}

// serverTypes returns all types that the API server knows, including those that the operator does not compare.
var serverTypes = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(testScheme()) })

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	types := runtime.NewSchemeBuilder(appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme)
	utilruntime.Must(types.AddToScheme(scheme))
	return scheme
}

// store applies a child to an empty API server, and returns the stored object.
func store(t *testing.T, c objects.Child) *stored {
	t.Helper()
	s := &stored{c, managedfieldstest.NewTestFieldManager(serverTypes(), c.Desired.GroupVersionKind())}
	s.apply(t, c)
	return s
}

func (s *stored) apply(t *testing.T, c objects.Child) {
	t.Helper()
	NewWithT(t).Expect(s.fields.Apply(c.Desired.DeepCopy(), objects.FieldOwner, true)).To(Succeed())
}

// edit reads the object, changes it, and writes the whole object back, as a client does.
func edit[T client.Object](t *testing.T, s *stored, change func(T)) {
	t.Helper()
	object := s.live(t)
	change(object.(T))
	s.update(t, object)
}

// update replaces the whole object, as an update request does.
func (s *stored) update(t *testing.T, object client.Object) {
	t.Helper()
	g := NewWithT(t)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	g.Expect(err).NotTo(HaveOccurred())
	changed := &unstructured.Unstructured{Object: content}
	changed.SetGroupVersionKind(s.child.Desired.GroupVersionKind())
	g.Expect(s.fields.Update(changed, "editor")).To(Succeed())
}

// live returns the object in its Go type, as a client would read it.
func (s *stored) live(t *testing.T) client.Object {
	t.Helper()
	content := s.fields.Live().(*unstructured.Unstructured)
	live := s.child.NewObject()
	NewWithT(t).Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content.Object, live, true)).To(Succeed())
	live.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("")) // cached objects have no kind
	return live
}

func (s *stored) expectMatch(t *testing.T, c objects.Child, want bool) {
	t.Helper()
	if got, err := Compare(c, s.live(t)); got.None != want || err != nil {
		t.Errorf("Compare = %+v, %v; want %t", got, err, want)
	}
}
