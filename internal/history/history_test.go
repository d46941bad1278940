package history

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestHistory_keepsLastEvents(t *testing.T) {
	g := NewWithT(t)
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
	g.Expect(history.Events(key, "u")).To(BeComparableTo(want))
	g.Expect(sent.Events).To(HaveLen(13))
	g.Expect(history.Events(types.NamespacedName{Namespace: "ns", Name: "y"}, "u")).To(BeNil())

	next := support.Echo("ns", "x", func(e *v1.Echo) { e.UID = "u2" })
	recorder.Eventf(next, nil, corev1.EventTypeNormal, "Deployed", "Deploy", "again")
	if got := history.Events(key, "u2"); len(got) != 1 || history.Events(key, "u") != nil {
		t.Errorf("a new Echo with the same name has %v", got)
	}
	history.Forget(key)
	g.Expect(history.events).To(BeEmpty())
}

func TestHistory_keepsLastReconcile(t *testing.T) {
	g := NewWithT(t)
	now := time.Unix(1000, 0)
	history := New(func() time.Time { return now })
	key := types.NamespacedName{Namespace: "ns", Name: "x"}
	history.AddReconcile(key, now.Add(-time.Second), errors.New("no"))
	g.Expect(history.Reconciles()).To(
		BeComparableTo(map[types.NamespacedName]Reconcile{key: {Ended: now, Duration: time.Second, Error: "no"}}))
	history.AddReconcile(key, now, nil)
	g.Expect(history.Reconciles()).To(BeComparableTo(map[types.NamespacedName]Reconcile{key: {Ended: now}}))
	history.Forget(key)
	g.Expect(history.Reconciles()).To(BeEmpty(), "the reconcile of a deleted Echo is kept")
}
