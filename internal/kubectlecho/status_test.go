package kubectlecho

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/kinds"
)

// of returns an object with a controller. Its UID is its name.
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
		"all that an Echo has": {
			[]object{of("Deployment", "deployment", "Echo", "web"), of("Pod", "a", "ReplicaSet", "set"), of("Pod", "b", "ReplicaSet", "set"),
				empty, of("ReplicaSet", "set", "Deployment", "deployment"), of("Service", "service", "Echo", "web")},
			[]string{"Echo/web", "├─Deployment/deployment", "│ └─ReplicaSet/set", "│   ├─Pod/a", "│   └─Pod/b", "└─Service/service"},
		},
		"a companion, whose pod is another's": {
			[]object{of("Pod", "companion", "Pod", "application"), of("Service", "service", "Echo", "web")},
			[]string{"Echo/web", "├─Pod/companion", "└─Service/service"},
		},
		"ReplicaSets that may not be read": {
			[]object{of("Deployment", "deployment", "Echo", "web"), of("Pod", "a", "ReplicaSet", "set")},
			[]string{"Echo/web", "├─Deployment/deployment", "└─Pod/a"},
		},
		"objects of another Echo, and of nobody": {
			[]object{of("Deployment", "deployment", "Echo", "earlier"), of("ReplicaSet", "set", "Deployment", "deployment"),
				of("Service", "service", "", "")},
			[]string{"Echo/web"},
		},
	} {
		var got []string
		for _, o := range tree(of("Echo", "web", "", ""), c.objects) {
			got = append(got, o.lines+o.kind+"/"+o.Metadata.Name)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the tree is\n%s", name, strings.Join(got, "\n"))
		}
	}
}

func TestShown_paths(t *testing.T) {
	for kind, want := range map[string]string{"Deployment": "apis/apps/v1/deployments", "Pod": "api/v1/pods"} {
		i := slices.IndexFunc(shown(), func(k kinds.Kind) bool { return k.Kind == kind })
		if got := shown()[i]; pathOf(got)+"/"+got.Resource != want {
			t.Errorf("%s is read from %s/%s", kind, pathOf(got), got.Resource)
		}
	}
}

func TestMessageAndReadiness(t *testing.T) {
	ready := []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Message: "All is well."}}
	broken := []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Message: "No such image."}}
	for name, c := range map[string]struct {
		echo    v1.Echo
		isReady bool
		message string
	}{
		"Ready":     {v1.Echo{Status: v1.EchoStatus{Conditions: ready}}, true, "All is well."},
		"not Ready": {v1.Echo{Status: v1.EchoStatus{Conditions: broken}}, false, "No such image."},
		"no status": {v1.Echo{}, false, "The operator has not reported a status: it does not run, or does not watch the namespace. " +
			"Check its pod: kubectl get pods -A -l control-plane=controller-manager"},
		"Ready before a change": {v1.Echo{ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Status: v1.EchoStatus{ObservedGeneration: 1, Conditions: ready}}, false,
			"The operator has not reported on the last change, and may not run. Check its pod: kubectl get pods -A -l " +
				"control-plane=controller-manager\n" +
				"Before the change: All is well."},
		"being deleted": {v1.Echo{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Now()}},
			Status: v1.EchoStatus{Conditions: ready}}, false, "All is well."},
	} {
		if got := isReady(&c.echo); got != c.isReady {
			t.Errorf("%s: it is ready: %t", name, got)
		}
		if got := message(&c.echo); got != c.message {
			t.Errorf("%s: the message is %q", name, got)
		}
	}
}

func TestLastEvents(t *testing.T) {
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
	if !slices.Equal(got, []string{"again", "kubelet", "once", "old", "old"}) {
		t.Errorf("got %q", got)
	}
}
