package kubectlecho

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// brokenReport returns a report about an Echo whose image does not exist.
func brokenReport() report {
	hour := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second).UTC())
	echo := v1.Echo{
		Namespace: "shop", Name: "web", UID: "web", Generation: 1, CreationTimestamp: hour,
		Status: v1.EchoStatus{ObservedGeneration: 1, Phase: v1.PhaseWarning, Message: "No such image. Check spec.image.", ReadyReplicas: 1,
			NodeProblems: []v1.EchoNodeProblems{{Name: "node-1", Problems: []string{"NotReady", "DiskPressure"}}},
			Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: "ImagePullFailed",
				LastTransitionTime: hour, Message: "No such image. Check spec.image. In full."}}},
	}
	echo.Spec.Replicas = new(int32(2))
	r := newReport(&echo)
	pod := of("Pod", "web-1", "Deployment", "deployment")
	pod.Metadata.CreationTimestamp = hour
	pod.cells = map[string]string{"Ready": "0/1", "Status": "ImagePullBackOff", "Restarts": "0", "Node": "node-1"}
	r.add(tree(object{Metadata: echo.ObjectMeta, kind: "Echo", cells: map[string]string{"Ready": "1/2", "Status": "Warning"}}, []object{pod}),
		[]corev1.Event{{Reason: "Failed\x1b", Message: "Failed to\npull\x1b\a", LastTimestamp: hour,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "web-1", UID: "web-1"}},
			{Reason: "NotReady", Message: "No such image.", LastTimestamp: hour,
				InvolvedObject: corev1.ObjectReference{Kind: "Echo", Name: "web", UID: "web"}}})
	return r
}

func TestReport_text(t *testing.T) {
	out := &strings.Builder{}
	NewWithT(t).Expect(write(out, "", brokenReport())).To(Succeed())
	want := `Echo shop/web: Warning, 1/2 ready
No such image. Check spec.image.

CONDITION   STATUS   REASON            SINCE
Ready       False    ImagePullFailed   60m

OBJECT        READY   STATUS             RESTARTS   NODE     AGE
Echo/web      1/2     Warning                                60m
└─Pod/web-1   0/1     ImagePullBackOff   0          node-1   60m

NODE     PROBLEMS
node-1   NotReady, DiskPressure

LAST SEEN   OBJECT      WARNING   MESSAGE
60m         Pod/web-1   Failed    Failed to pull
`
	if out.String() != want {
		t.Errorf("it is\n%s", out)
	}
}

func TestReport_json(t *testing.T) {
	out, r := &strings.Builder{}, brokenReport()
	NewWithT(t).Expect(write(out, "json", reports{[]report{r}})).To(Succeed())
	hour := r.Warnings[0].LastSeen.Format(time.RFC3339)
	want := `{"items":[{"namespace":"shop","name":"web","ready":false,"phase":"Warning","message":"No such image. Check spec.image.",` +
		`"readyReplicas":1,"desiredReplicas":2,` +
		`"conditions":[{"type":"Ready","status":"False","reason":"ImagePullFailed","lastTransitionTime":"HOUR"}],` +
		`"objects":[{"kind":"Echo","name":"web","ready":"1/2","status":"Warning","creationTimestamp":"HOUR"},` +
		`{"kind":"Pod","name":"web-1","owner":"Echo/web","ready":"0/1","status":"ImagePullBackOff","restarts":"0","node":"node-1",` +
		`"creationTimestamp":"HOUR"}],"nodeProblems":[{"name":"node-1","problems":["NotReady","DiskPressure"]}],` +
		`"warnings":[{"lastSeen":"HOUR","object":"Pod/web-1","reason":"Failed\u001b","message":"Failed to pull"}]}]}`
	got := &bytes.Buffer{}
	if err := json.Compact(got, []byte(out.String())); err != nil || got.String() != strings.ReplaceAll(want, "HOUR", hour) {
		t.Errorf("the report is %s: %v", got, err)
	}
}

func TestReports(t *testing.T) {
	for format, want := range map[string]string{
		"":     "NAMESPACE   NAME   READY   PHASE     MESSAGE\nshop        web    1/2     Warning   No such image. Check spec.image.\n",
		"json": `"message": "No such image. Check spec.image.",`,
	} {
		out, none := &strings.Builder{}, &strings.Builder{}
		if err := cmp.Or(write(out, format, reports{[]report{brokenReport()}}), write(none, format, reports{[]report{}})); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) || none.String() != map[string]string{"json": "{\n    \"items\": []\n}\n"}[format] {
			t.Errorf("%q: the report is\n%s\nand without Echoes\n%s", format, out, none)
		}
	}
}

func TestLastOf(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)) }
	event := func(reason, about string, change func(*corev1.Event)) corev1.Event {
		e := corev1.Event{Reason: reason, InvolvedObject: corev1.ObjectReference{UID: types.UID(about)}}
		change(&e)
		return e
	}
	old := func(e *corev1.Event) { e.LastTimestamp = at(0) }
	events := []corev1.Event{
		event("kubelet", "pod", func(e *corev1.Event) { e.LastTimestamp = at(3) }),
		event("other", "another", old),
		event("once", "web", func(e *corev1.Event) { e.EventTime = metav1.MicroTime(at(2)) }),
		event("again", "web", func(e *corev1.Event) {
			e.EventTime, e.Series = metav1.MicroTime(at(1)), &corev1.EventSeries{LastObservedTime: metav1.MicroTime(at(4))}
		}),
		event("old", "pod", old), event("old", "pod", old), event("old", "pod", old),
	}
	var got []string
	for _, e := range lastOf(events, []object{of("Echo", "web", "", ""), of("Pod", "pod", "", "")}) {
		got = append(got, e.Reason)
	}
	NewWithT(t).Expect(got).To(HaveExactElements([]string{"again", "kubelet", "once", "old", "old"}))
}

// of returns an object that has a controller, unless owner is empty. The object's UID is its name.
func of(kind, name, ownerKind, owner string) object {
	o := object{Metadata: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, kind: kind}
	if owner != "" {
		o.Metadata.OwnerReferences = []metav1.OwnerReference{{Kind: ownerKind, UID: types.UID(owner), Controller: new(true)}}
	}
	return o
}

func TestTree(t *testing.T) {
	empty := of("ReplicaSet", "old", "Deployment", "deployment")
	empty.cells = map[string]string{"Desired": "0", "Current": "0"}
	for name, c := range map[string]struct {
		objects []object
		want    []string
	}{
		"nothing": {nil, []string{"Echo/web"}},
		"all of an Echo's objects": {
			[]object{of("Deployment", "deployment", "Echo", "web"), of("Pod", "a", "ReplicaSet", "set"), of("Pod", "b", "ReplicaSet", "set"),
				empty, of("ReplicaSet", "set", "Deployment", "deployment"), of("Service", "service", "Echo", "web")},
			[]string{"Echo/web", "├─Deployment/deployment", "│ └─ReplicaSet/set", "│   ├─Pod/a", "│   └─Pod/b", "└─Service/service"},
		},
		"a terminating pod of an earlier revision": {
			[]object{of("Deployment", "deployment", "Echo", "web"), of("Pod", "a", "ReplicaSet", "old"), empty},
			[]string{"Echo/web", "└─Deployment/deployment", "  └─ReplicaSet/old", "    └─Pod/a"},
		},
		"a companion of another owner's pod": {
			[]object{of("Pod", "companion", "Pod", "application"), of("Service", "service", "Echo", "web")},
			[]string{"Echo/web", "├─Pod/companion", "└─Service/service"},
		},
		"unreadable ReplicaSets": {
			[]object{of("Deployment", "deployment", "Echo", "web"), of("Pod", "a", "ReplicaSet", "set")},
			[]string{"Echo/web", "├─Deployment/deployment", "└─Pod/a"},
		},
		"objects of another Echo, and without an owner": {
			[]object{of("Deployment", "deployment", "Echo", "earlier"), of("ReplicaSet", "set", "Deployment", "deployment"),
				of("Service", "service", "", "")},
			[]string{"Echo/web"},
		},
	} {
		var got []string
		for _, o := range tree(of("Echo", "web", "", ""), c.objects) {
			got = append(got, o.lines+o.kind+"/"+o.Metadata.Name)
		}
		NewWithT(t).Expect(got).To(HaveExactElements(c.want), name)
	}
}

func TestMessage_andIsReady(t *testing.T) {
	status := func(ready metav1.ConditionStatus, generation int64, message string) v1.EchoStatus {
		return v1.EchoStatus{ObservedGeneration: generation, Message: message,
			Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: ready, Message: message + " In full."}}}
	}
	for name, c := range map[string]struct {
		echo    v1.Echo
		isReady bool
		message string
	}{
		"Ready":     {v1.Echo{Status: status(metav1.ConditionTrue, 0, "All is well.")}, true, "All is well."},
		"not Ready": {v1.Echo{Status: status(metav1.ConditionFalse, 0, "No such image.")}, false, "No such image."},
		"no status": {v1.Echo{}, false, "The operator has not reported a status: it is not running, or does not watch the namespace. " +
			"Check its pods: kubectl get pods -A -l control-plane=controller-manager"},
		"Ready before a change": {v1.Echo{Generation: 2,
			Status: status(metav1.ConditionTrue, 1, "All is well.")}, false,
			"The operator has not reported on the last change, and may not be running. Check its pods: kubectl get pods -A -l " +
				"control-plane=controller-manager\n" +
				"Before the change: All is well."},
		"being deleted": {v1.Echo{DeletionTimestamp: &metav1.Time{Time: time.Now()},
			Status: status(metav1.ConditionTrue, 0, "All is well.")}, false, "All is well."},
	} {
		NewWithT(t).Expect(isReady(&c.echo)).To(Equal(c.isReady), name)
		NewWithT(t).Expect(message(&c.echo)).To(Equal(c.message), name)
	}
}
