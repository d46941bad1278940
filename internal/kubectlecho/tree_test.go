package kubectlecho

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/kinds"
)

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
		if got := isReady(&c.echo); got != c.isReady {
			t.Errorf("%s: the Echo is ready: %t", name, got)
		}
		if got := message(&c.echo); got != c.message {
			t.Errorf("%s: the message is %q", name, got)
		}
	}
}
