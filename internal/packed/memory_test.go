package packed

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/tests/support"
)

// maxBytesOfAnEcho is the memory of a packed Echo and its objects in bytes, with a margin of a fifth.
const maxBytesOfAnEcho = 2400

// TestMemoryOfAnEcho counts bytes, which do not depend on the machine.
func TestMemoryOfAnEcho(t *testing.T) {
	const echoes = 2000
	held := make([]any, 0, 4*echoes)
	before := heap()
	for i := range echoes {
		for _, object := range cachedObjects(t, fmt.Sprintf("echo-%d", i)) {
			packed, err := Pack(object)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, packed)
		}
	}
	each := (heap() - before) / echoes
	t.Logf("%d bytes", each)
	if each > maxBytesOfAnEcho || len(held) != 4*echoes {
		t.Errorf("an Echo and its objects take %d bytes in the cache, at most %d are allowed", each, maxBytesOfAnEcho)
	}
	runtime.KeepAlive(held)
}

// heap returns how many bytes are in use.
func heap() int {
	var stats runtime.MemStats
	for range 3 { // what is kept once is freed by the collection after the next
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

// cachedObjects returns an Echo and its children, as the API server answers.
func cachedObjects(t *testing.T, name string) []any {
	t.Helper()
	now := metav1.NewTime(time.Unix(1e9, 0))
	echo := support.Echo("ns", name)
	echo.UID, echo.ResourceVersion, echo.CreationTimestamp, echo.Generation = uuid.NewUUID(), "1000", now, 1
	for _, kind := range []string{v1.ConditionReady, v1.ConditionProgressing, v1.ConditionDegraded} {
		echo.Status.Conditions = append(echo.Status.Conditions, metav1.Condition{Type: kind, Status: "False", Reason: "RolloutInProgress",
			Message: "Waiting for the pods of Deployment " + name + ": 0 of 2 pods are ready.", LastTransitionTime: now, ObservedGeneration: 1})
	}
	all, err := children.Of(echo, children.Config{Images: children.Images{EchoServer: "quay.io/echo-operator/echo-server:v0.1.0"}})
	if err != nil {
		t.Fatal(err)
	}
	objects := []any{echo}
	for _, c := range all {
		if c.Want == nil {
			continue
		}
		object := c.Blank()
		if err := k8sruntime.DefaultUnstructuredConverter.FromUnstructured(c.Want.Object, object); err != nil {
			t.Fatal(err)
		}
		object.SetUID(uuid.NewUUID())
		object.SetResourceVersion("1001")
		object.SetCreationTimestamp(now)
		fields, err := json.Marshal(c.Want.Object) // about as long as the managed fields are, and with the UID of the owner, too
		if err != nil {
			t.Fatal(err)
		}
		object.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: children.FieldOwner, FieldsV1: metav1.NewFieldsV1(string(fields))}})
		objects = append(objects, object)
	}
	return objects
}
