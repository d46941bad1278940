package history

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestLastEventsOfEachEchoAreKept(t *testing.T) {
	history := New(func() time.Time { return time.Unix(1000, 0) })
	sent := events.NewFakeRecorder(100)
	recorder := history.Recorder(sent)
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.UID = "u" })
	for i := range 12 {
		recorder.Eventf(echo, nil, corev1.EventTypeNormal, "Scaled", "Scale", "to %d", i)
	}
	recorder.Eventf(&corev1.Pod{}, nil, corev1.EventTypeWarning, "EchoNotFound", "Make", "none")

	key := types.NamespacedName{Namespace: "ns", Name: "x"}
	var want []Event
	for i := 2; i < 12; i++ {
		want = append(want, Event{Time: time.Unix(1000, 0), Type: "Normal", Reason: "Scaled", Note: fmt.Sprintf("to %d", i)})
	}
	if diff := cmp.Diff(want, history.Events(key, "u")); diff != "" {
		t.Error(diff)
	}
	if len(sent.Events) != 13 {
		t.Errorf("%d events were sent", len(sent.Events))
	}
	if got := history.Events(types.NamespacedName{Namespace: "ns", Name: "y"}, "u"); got != nil {
		t.Errorf("another Echo has %v", got)
	}

	next := support.Echo("ns", "x", func(e *v1.Echo) { e.UID = "u2" })
	recorder.Eventf(next, nil, corev1.EventTypeNormal, "Deployed", "Deploy", "anew")
	if got := history.Events(key, "u2"); len(got) != 1 || history.Events(key, "u") != nil {
		t.Errorf("an Echo that took the name has %v", got)
	}
	history.Forget(key)
	if len(history.events) != 0 {
		t.Errorf("it keeps %v", history.events)
	}
}

func TestLastPassIsKept(t *testing.T) {
	now := time.Unix(1000, 0)
	history := New(func() time.Time { return now })
	key := types.NamespacedName{Namespace: "ns", Name: "x"}
	history.AddPass(key, now.Add(-time.Second), errors.New("no"))
	if diff := cmp.Diff(map[types.NamespacedName]Pass{key: {Ended: now, Duration: time.Second, Error: "no"}}, history.Passes()); diff != "" {
		t.Error(diff)
	}
	history.AddPass(key, now, nil)
	if diff := cmp.Diff(map[types.NamespacedName]Pass{key: {Ended: now}}, history.Passes()); diff != "" {
		t.Error(diff)
	}
	history.Forget(key)
	if len(history.Passes()) != 0 {
		t.Error("a pass over an Echo that is gone is kept")
	}
}
