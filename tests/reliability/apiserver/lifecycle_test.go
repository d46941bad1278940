package apiserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// editStatus changes the Echo's status, which only the operator writes.
func (w *walk) editStatus(t *rapid.T) {
	text := rapid.SampledFrom([]string{
		`{"status": {"phase": "Failed"}}`, `{"status": {"conditions": []}}`, `{"status": {"replicas": 99, "readyReplicas": 98}}`,
		`{"status": null}`,
		`{"status": {"observedGeneration": 1, "url": "http://theirs", "image": "theirs", "selector": null}}`,
		`{"status": {"pods": {"Ready": ["theirs"]}, "companions": 7, "nodeProblems": {"theirs": ["NotReady"]}}}`,
		`{"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Theirs", "message": "", "lastTransitionTime": ` +
			`"2020-01-01T00:00:00Z"}]}}`,
		`{"status": {"conditions": [{"type": "Theirs", "status": "True", "reason": "Theirs", "message": "", "lastTransitionTime": ` +
			`"2020-01-01T00:00:00Z"}]}}`,
	}).Draw(t, "status")
	w.say("kubectl -n %s patch echo %s --subresource=status --type=merge -p '%s'", w.walked, echoName, text)
	if err := w.client.Status().Patch(t.Context(), newEcho(w.walked, nil), client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, `"conditions"`) || strings.Contains(text, `"status": null`) { // the patch replaces earlier conditions
		w.foreign["Echo"] = slices.DeleteFunc(w.foreign["Echo"], func(f foreign) bool { return f.path[0] == "status" })
	}
	if strings.Contains(text, `"type": "Theirs"`) {
		w.keep("Echo", foreign{place{[]string{"status", "conditions"}, "type", "Theirs"}, w.echoUID(t)})
	}
}

// editMetadata changes the Echo's metadata. It does not remove the finalizer of a paused Echo, because the operator would not restore the
// finalizer before a deletion.
func (w *walk) editMetadata(t *rapid.T) {
	if rapid.Bool().Draw(t, "annotate") || w.isPaused() {
		w.annotate(t, "theirs", "yes")
		return
	}
	text := `{"metadata": {"finalizers": null}}`
	w.say("kubectl -n %s patch echo %s --type=merge -p '%s'", w.walked, echoName, text)
	w.mergeEcho(t, text)
}

// recreate deletes the Echo and creates it again with the same spec. It deletes orphaned children, which would block the new Echo.
func (w *walk) recreate(t *rapid.T) {
	order := rapid.SampledFrom([]metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan}).Draw(t, "order")
	w.say("kubectl -n %s delete echo %s --cascade=%s", w.walked, echoName, map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationBackground: "background", metav1.DeletePropagationForeground: "foreground",
		metav1.DeletePropagationOrphan: "orphan"}[order])
	left := w.remove(t, w.walked, order)
	if orphans := len(left.all()); orphans > 0 && order != metav1.DeletePropagationOrphan {
		w.fail(t, violation{"objects of a deleted Echo remain", fmt.Sprint(left.uids())})
	}
	for _, orphan := range left.all() {
		w.deleteNow(t, orphan, metav1.DeletePropagationBackground)
	}
	w.create(t)
}

// restart kills the operator and starts it again.
func (w *walk) restart(t *rapid.T) {
	w.say("# the operator is killed and started again")
	w.operator.wire.cut()
	if _, err := w.running(); err != nil {
		t.Fatal(err)
	}
}

// arm causes a fault in one of the next requests.
func (w *walk) arm(t *rapid.T) {
	f := rapid.SampledFrom(faults()).Draw(t, "fault")
	f.namespace = w.walked
	after := rapid.IntRange(0, 8).Draw(t, "after")
	w.say("# from here, request %d from the operator for the Echo or its children %s", after+1, f.name)
	w.operator.wire.arm(f, after)
}

// disownChild removes a child's owner reference. The Echo's status must then report that the name is taken. Nothing may change until the
// child is gone or has its owner reference again.
func (w *walk) disownChild(t *rapid.T) {
	kind := w.drawChild(t)
	back := rapid.Bool().Draw(t, "back")
	child := w.child(t, kind)
	if child == nil || w.isPaused() {
		return
	}
	owners, err := json.Marshal(child.GetOwnerReferences())
	if err != nil {
		t.Fatal(err)
	}
	w.patchOwners(t, child, "null")
	now := w.settleWalked(t)
	if reason := condition(now.echo, v1.ConditionReady)["reason"]; reason != v1.ReasonNameConflict.String() {
		w.fail(t, violation{"the status does not report that the name of a child is taken", fmt.Sprint(now.echo.Object["status"])})
	}
	if back {
		w.patchOwners(t, child, string(owners))
		return
	}
	w.deleteNow(t, child, metav1.DeletePropagationBackground)
	w.annotate(t, "looked-at", "again") // otherwise, the operator would check only after a minute
}

func (w *walk) patchOwners(t *rapid.T, child *object, owners string) {
	text := `{"metadata": {"ownerReferences": ` + owners + `}}`
	w.say("kubectl -n %s patch %s %s --type=merge -p '%s'", w.walked, child.GetKind(), echoName, text)
	if err := w.client.Patch(t.Context(), child, client.RawPatch(types.MergePatchType, []byte(text)),
		client.FieldOwner("kubectl-patch")); err != nil {
		t.Fatal(err)
	}
}

// annotate changes an annotation of the Echo.
func (w *walk) annotate(t *rapid.T, key, value string) {
	w.say("kubectl -n %s annotate --overwrite echo %s example.org/%s=%s-%d", w.walked, echoName, key, value, len(w.lines))
	w.mergeEcho(t, fmt.Sprintf(`{"metadata": {"annotations": {"example.org/%s": "%s-%d"}}}`, key, value, len(w.lines)))
	w.keep("Echo", foreign{place{path: []string{"annotations"}, field: "example.org/" + key}, w.echoUID(t)})
}

// keep records another client's addition to an object of the given kind.
func (w *walk) keep(kind string, added foreign) {
	w.foreign[kind] = append(slices.DeleteFunc(w.foreign[kind], func(f foreign) bool { return f.String() == added.String() }), added)
}

// String identifies the addition.
func (f foreign) String() string { return fmt.Sprint(f.place, f.uid) }

func (w *walk) echoUID(t *rapid.T) types.UID {
	echo := newEcho(w.walked, nil)
	if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(echo), echo); err != nil {
		t.Fatal(err)
	}
	return echo.GetUID()
}

func (w *walk) mergeEcho(t *rapid.T, text string) {
	if err := w.client.Patch(t.Context(), newEcho(w.walked, nil), client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
		t.Fatal(err)
	}
}
