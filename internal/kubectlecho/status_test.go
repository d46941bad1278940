package kubectlecho

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

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
