package packed

import (
	"encoding/json"
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/randfill"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// names are what objects and their owners are called, and what is in their texts.
var names = []string{"x", "a", "echo", "echo-1", "app", "1", "kubernetes", strings.Repeat("n", 63), "", "\xff\x01", "\xff", "ä"}

// filler makes objects with random fields. The seed is fixed, so that a failure repeats.
func filler() *randfill.Filler {
	r := rand.New(rand.NewSource(1))
	pick := func() string { return names[r.Intn(len(names))] }
	return randfill.NewWithSeed(1).NilChance(.3).NumElements(0, 3).MaxDepth(12).Funcs(
		func(s *string, _ randfill.Continue) { *s = pick() + pick() },
		func(u *types.UID, _ randfill.Continue) { *u = types.UID(pick()) },
		func(q *resource.Quantity, _ randfill.Continue) { *q = resource.MustParse("100m") },
		func(t *metav1.Time, _ randfill.Continue) { *t = metav1.Unix(r.Int63n(1e9)+1, 0) },
		func(i *intstr.IntOrString, _ randfill.Continue) { *i = intstr.FromString(pick()) },
		func(f *metav1.FieldsV1, _ randfill.Continue) { *f = *metav1.NewFieldsV1(`{"f:` + "echo" + `":{}}`) },
	)
}

// asDecoded returns an object as it is after it was read from JSON, which has no empty lists.
func asDecoded(t *testing.T, object client.Object) client.Object {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	decoded := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(text, decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

func TestWhatIsUnpackedIsWhatWasPacked(t *testing.T) {
	fill := filler()
	for _, kind := range append(children.Kinds(), &v1.Echo{}) {
		for i := range 200 {
			fill.Fill(kind)
			object := asDecoded(t, withoutKind(kind))
			object.SetName(names[i%len(names)])
			checkPacked(t, object)
		}
	}
}

// TestLongTextsOfUsers checks texts that have the name of their object everywhere, and those that look like what stands for it.
func TestLongTextsOfUsers(t *testing.T) {
	for _, text := range []string{strings.Repeat("x", 1<<17), strings.Repeat("\u00ff\u0001x~=", 1<<14), strings.Repeat("\x01\x02", 1<<14)} {
		d := deployment("x", "x")
		d.Annotations = map[string]string{"x": text}
		checkPacked(t, d)
		checkPacked(t, asDecoded(t, &v1.Echo{ObjectMeta: d.ObjectMeta}))
	}
}

func checkPacked(t *testing.T, object client.Object) {
	t.Helper()
	wanted := object.DeepCopyObject().(client.Object)
	held, err := Pack(object)
	if err != nil {
		t.Fatal(err)
	}
	packed, ok := held.(*Object)
	if !ok {
		t.Fatalf("%T is not packed", object)
	}
	if again, err := Pack(packed); err != nil || again != any(packed) {
		t.Errorf("%T is packed twice: %v", object, err)
	}
	got, err := Unpack(packed)
	if err != nil || !equality.Semantic.DeepEqual(wanted, got) {
		t.Fatalf("%T was changed: %v\n%s", object, err, cmp.Diff(wanted, got))
	}
	for name, value := range gettersOf(wanted) {
		if !equality.Semantic.DeepEqual(value, gettersOf(packed)[name]) {
			t.Errorf("%T: %s returns %v, not %v", object, name, gettersOf(packed)[name], value)
		}
	}
}

// withoutKind empties the kind, which objects that were read into their Go type do not have.
func withoutKind(object client.Object) client.Object {
	reflect.ValueOf(object).Elem().FieldByName("TypeMeta").SetZero()
	return object
}

// gettersOf returns what the methods of the metadata of an object return.
func gettersOf(object metav1.Object) map[string]any {
	values := map[string]any{}
	for m := range reflect.TypeFor[metav1.Object]().Methods() {
		if name := m.Name; strings.HasPrefix(name, "Get") && name != "GetSelfLink" {
			values[name] = reflect.ValueOf(object).MethodByName(name).Call(nil)[0].Interface()
		}
	}
	return values
}

func TestObjectsThatAreNotPackedStayAsTheyAre(t *testing.T) {
	for _, object := range []any{&corev1.Pod{}, &corev1.Node{}, "text", nil} {
		packed, err := Pack(object)
		if err != nil || packed != object || Packs(object) {
			t.Errorf("%T became %v: %v", object, packed, err)
		}
		unpacked, err := Unpack(object)
		if err != nil || unpacked != object {
			t.Errorf("%T became %v: %v", object, unpacked, err)
		}
	}
}

func deployment(name string, owner types.UID) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name) + "-uid", ResourceVersion: name + "1", CreationTimestamp: metav1.NewTime(time.Unix(100, 0)),
		Labels:          map[string]string{"app.kubernetes.io/instance": name},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Echo", Name: name, UID: owner, Controller: new(true)}},
	}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Labels}
	d.Status.Replicas = 1
	return d
}

func TestWhatObjectsHaveInCommonIsKeptOnce(t *testing.T) {
	pack := func(d *appsv1.Deployment) *Object {
		held, err := Pack(d)
		if err != nil {
			t.Fatal(err)
		}
		return held.(*Object)
	}
	a, b := pack(deployment("echo-a", "1111")), pack(deployment("echo-b", "2222"))
	if a.metadata != b.metadata || a.spec != b.spec {
		t.Errorf("they differ:\n%q\n%q\n%q\n%q", a.metadata.text.Value(), b.metadata.text.Value(), a.spec.text.Value(), b.spec.text.Value())
	}
	edited := deployment("echo-b", "2222")
	edited.Spec.Paused = true
	if a.spec == pack(edited).spec {
		t.Error("a foreign edit is lost")
	}
}

func TestPackedObjectsCannotBeChanged(t *testing.T) {
	held, err := Pack(deployment("x", "1"))
	if err != nil {
		t.Fatal(err)
	}
	packed, unpacked := held.(*Object), func() *appsv1.Deployment {
		object, err := Unpack(held)
		if err != nil {
			t.Fatal(err)
		}
		return object.(*appsv1.Deployment)
	}
	unpacked().Labels["edited"] = "yes"
	unpacked().Spec.Selector.MatchLabels["edited"] = "yes"
	if diff := cmp.Diff(deployment("x", "1"), unpacked()); diff != "" {
		t.Error(diff)
	}
	if c := packed.DeepCopyObject(); c == any(packed) || !reflect.DeepEqual(c.(*Object).uid, packed.uid) {
		t.Error("it is not a copy")
	}
	for m := range reflect.TypeFor[metav1.Object]().Methods() {
		if strings.HasPrefix(m.Name, "Set") && !panics(packed, m) {
			t.Errorf("%s changes it", m.Name)
		}
	}
}

func panics(object *Object, m reflect.Method) (panicked bool) {
	defer func() { panicked = recover() != nil }()
	reflect.ValueOf(object).MethodByName(m.Name).Call([]reflect.Value{reflect.Zero(m.Type.In(0))})
	return false
}
