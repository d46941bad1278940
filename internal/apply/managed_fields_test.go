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
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// repair makes a stored object match its child, as the operator does.
func (s *stored) repair(t *testing.T, c objects.Child) {
	t.Helper()
	g := NewWithT(t)
	live := s.live(t)
	difference, err := Compare(c, live)
	g.Expect(err).NotTo(HaveOccurred())
	if !difference.Renamed.Empty() {
		g.Expect(GiveToOperator(live, difference.Renamed, c.Desired.GetAPIVersion())).To(Succeed())
		s.update(t, live)
	}
	s.apply(t, c)
}

// expectSameSpec fails the test if two objects differ in anything other than their managed fields.
func expectSameSpec(t *testing.T, want, got client.Object) {
	t.Helper()
	g := NewWithT(t)
	content := func(object client.Object) map[string]any {
		object = object.DeepCopyObject().(client.Object)
		object.SetManagedFields(nil)
		all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		g.Expect(err).NotTo(HaveOccurred())
		return all
	}
	g.Expect(content(got)).To(BeComparableTo(content(want)))
}

// TestCompare_keepsForeignPort edits both the number and the name of a port, so that nothing identifies the port as the operator's.
func TestCompare_keepsForeignPort(t *testing.T) {
	g := NewWithT(t)
	child := childOf(t, "Service")
	s := store(t, child)
	edit(t, s, func(o *corev1.Service) { o.Spec.Ports[0].Port, o.Spec.Ports[0].Name = 99, "theirs" })
	s.repair(t, child)
	ports := s.live(t).(*corev1.Service).Spec.Ports
	g.Expect(ports).To(HaveLen(3))
	g.Expect(ports[0].Name).To(Equal("theirs"))
	s.expectMatch(t, child, true)
}

// TestCompare_renamesEditedPortOfSameName edits the number and the target of a port, but keeps its name. The operator must take over the
// port, because two ports must not have the same name.
func TestCompare_renamesEditedPortOfSameName(t *testing.T) {
	child := childOf(t, "Service")
	s := store(t, child)
	edit(t, s, func(o *corev1.Service) { o.Spec.Ports[0].Port, o.Spec.Ports[0].TargetPort.StrVal = 99, "other" })
	s.repair(t, child)
	if ports := s.live(t).(*corev1.Service).Spec.Ports; len(ports) != 2 || ports[0].Port != 444 {
		t.Errorf("the ports are %v", ports)
	}
}

// TestCompare_keepsUndesiredItem checks that an item that is no longer desired does not count as renamed, because apply removes it
// without additional requests.
func TestCompare_keepsUndesiredItem(t *testing.T) {
	s := store(t, childOf(t, "Service"))
	changed := childOf(t, "Service", func(e *v1.Echo) { e.Spec.Service.Port = 90 })
	if got, err := Compare(changed, s.live(t)); err != nil || !got.Renamed.Empty() {
		t.Errorf("got %v, %v", got.Renamed, err)
	}
}

func TestGiveToOperator(t *testing.T) {
	g := NewWithT(t)
	fields := metav1.NewFieldsV1
	object := &corev1.Service{ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "a", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: fields(`{"f:spec":{"f:type":{}}}`)},
		{Manager: "b", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: fields(`{"f:spec":{"f:type":{},"f:more":{}}}`)},
	}}
	given := fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "type"))
	g.Expect(GiveToOperator(object, given, "v1")).To(Succeed())
	want := []metav1.ManagedFieldsEntry{
		{Manager: "b", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: fields(`{"f:spec":{"f:more":{}}}`)},
		{Manager: "echo-operator", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: fields(`{"f:spec":{"f:type":{}}}`)},
	}
	g.Expect(object.ManagedFields).To(BeComparableTo(want))
}

func TestFieldsOf_rejectsInvalidManagedFields(t *testing.T) {
	g := NewWithT(t)
	child := childOf(t, "Service")
	live := store(t, child).live(t)
	live.GetManagedFields()[0].FieldsV1.SetRawString("no")
	g.Expect(Compare(child, live)).Error().To(HaveOccurred(), "Compare hides the error")
	g.Expect(GiveToOperator(live, fieldpath.NewSet(), "v1")).To(HaveOccurred(), "GiveToOperator hides the error")
}

// TestCompare_knowsTheKeysOfAllLists edits the key of each list item that the operator sets, according to the API server's schema.
func TestCompare_knowsTheKeysOfAllLists(t *testing.T) {
	lists := map[string]bool{}
	for _, kind := range []string{"Deployment", "Service", "Ingress", "NetworkPolicy", "PodDisruptionBudget"} {
		child := childOf(t, kind)
		typed, err := serverTypes().ObjectToTyped(child.Desired)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		fields, err := typed.ToFieldSet()
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		fields.Iterate(func(path fieldpath.Path) {
			last := path[len(path)-1]
			if last.Key == nil {
				return
			}
			lists[*path[len(path)-2].FieldName] = true
			s := store(t, child)
			content := s.fields.Live().DeepCopyObject().(*unstructured.Unstructured)
			item := itemAt(content.Object, path)
			for _, key := range (*last.Key)[:1] {
				if text, isText := item[key.Name].(string); isText {
					item[key.Name] = text + "-edited"
				} else {
					item[key.Name] = int64(99)
				}
			}
			NewWithT(t).Expect(s.fields.Update(content, "editor")).To(Succeed())
			difference, err := Compare(child, s.live(t))
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(difference.Renamed.Size()).To(Equal(1), "%s %s", kind, path)
		})
	}
	NewWithT(t).Expect(lists).To(HaveLen(8))
}

// itemAt returns the list item at a path.
func itemAt(object any, path fieldpath.Path) map[string]any {
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			object = object.(map[string]any)[*element.FieldName]
		default:
			for _, item := range object.([]any) {
				matches := true
				for _, key := range *element.Key {
					matches = matches && item.(map[string]any)[key.Name] == key.Value.Unstructured()
				}
				if matches {
					object = item
					break
				}
			}
		}
	}
	return object.(map[string]any)
}

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
