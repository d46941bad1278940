package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestAnEventOfAPodWaitsForTheDeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, pods, began := newTestQueue(t), AfterDeployment(func(context.Context, client.Object) []reconcile.Request {
			return controllers.RequestsFor("ns", "x")
		}), time.Now()
		pods.Create(t.Context(), event.CreateEvent{Object: fakecluster.EchoPod()}, q)
		pods.Update(t.Context(), event.UpdateEvent{ObjectOld: fakecluster.EchoPod(), ObjectNew: fakecluster.EchoPod()}, q)
		pods.Delete(t.Context(), event.DeleteEvent{Object: fakecluster.EchoPod()}, q)
		want := controllers.RequestsFor("ns", "x")[0]
		if request, _ := q.Get(); request != want || time.Since(began) != podDelay {
			t.Errorf("%v after %s", request, time.Since(began))
		}
		q.Done(want)

		began = time.Now()
		pods.Create(t.Context(), event.CreateEvent{Object: fakecluster.EchoPod()}, q)
		q.Add(want) // because of a Deployment event
		if request, _ := q.Get(); request != want || time.Since(began) != 0 {
			t.Errorf("%v after %s, although another event added it", request, time.Since(began))
		}
		q.Done(want)
		<-time.After(2 * podDelay)
		NewWithT(t).Expect(q.Len()).To(BeZero(), "the event of the pod starts a reconcile of its own")

		began = time.Now()
		AfterCompanion(func(context.Context, client.Object) []reconcile.Request { return controllers.RequestsFor("ns", "x") }).Create(
			t.Context(), event.CreateEvent{Object: fakecluster.OwnerPod()}, q)
		if request, _ := q.Get(); request != want || time.Since(began) != companionDelay {
			t.Errorf("%v after %s, although its companion may still be created", request, time.Since(began))
		}
	})
}
