package v1

import (
	"encoding/json"
	"reflect"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fill sets every exported field of a value, and puts one element in each list and map. Values of types from other packages stay empty,
// because their DeepCopy methods are not generated here.
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		fill(value.Elem())
	case reflect.Struct:
		if value.Type() == reflect.TypeFor[metav1.Time]() { // the zero value is null in JSON
			value.Set(reflect.ValueOf(metav1.Unix(7, 0)))
		}
		if value.Type().PkgPath() != reflect.TypeFor[Echo]().PkgPath() {
			return
		}
		for _, field := range value.Fields() {
			fill(field)
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0))
	case reflect.Map:
		element := reflect.New(value.Type().Elem()).Elem()
		fill(element)
		value.Set(reflect.MakeMap(value.Type()))
		value.SetMapIndex(reflect.ValueOf("key"), element)
	case reflect.String:
		value.SetString("text")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Int32, reflect.Int64:
		value.SetInt(7)
	}
}

// TestEcho_keepsEachField checks that a copy and its JSON have every field. encoding/json would drop two fields with the same JSON name.
func TestEcho_keepsEachField(t *testing.T) {
	g := NewWithT(t)
	list, again := &EchoList{}, &EchoList{}
	fill(reflect.ValueOf(list).Elem())
	text, err := json.Marshal(list.DeepCopyObject())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(json.Unmarshal(text, again)).To(Succeed())
	g.Expect(again).To(BeComparableTo(list))
}

// TestEcho_omitsUnsetFieldsInJSON checks that the JSON of an empty Echo has no optional fields, because a client that applies the JSON would
// otherwise own these fields. A status always includes its replica counts.
func TestEcho_omitsUnsetFieldsInJSON(t *testing.T) {
	g := NewWithT(t)
	text, err := json.Marshal(&Echo{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal(`{"metadata":{},"spec":{}}`))
	text, err = json.Marshal(&Echo{Status: EchoStatus{Phase: PhasePending}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(HaveSuffix(`"status":{"phase":"Pending","replicas":0,"readyReplicas":0,"updatedReplicas":0}}`))
}
