package echo

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers/echo/queue"
	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestReconcile_requeuesRejectedEchoWithUnwatchedObject(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: *fakecluster.OwnedService(fakecluster.StoredEcho()).ObjectMeta.DeepCopy(),
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
	for label, want := range map[string]bool{"echo-operator": false, "Helm": true} {
		deployment.Labels = map[string]string{"app.kubernetes.io/managed-by": label}
		w := fakecluster.New(t, fakecluster.StoredEcho(func(e *v1.Echo) { e.Spec.Replicas = new(int32(21)) }), deployment)
		response, err := reconciler(w).reconcile(t.Context(), w.Current(t))
		if looks := response.RequeueAfter > 0; looks != want || (err == nil) != want {
			t.Errorf("with the label %s: %+v, %v", label, response, err)
		}
	}
}

func version(v string) *v1.Echo {
	return fakecluster.StoredEcho(func(e *v1.Echo) { e.ResourceVersion = v })
}

func TestReconcile_forgetsMissingEcho(t *testing.T) {
	g := NewWithT(t)
	r := reconciler(fakecluster.New(t))
	key := client.ObjectKeyFromObject(version("1"))
	r.memory.expectations.Begin(version("1"), r.Now())
	r.memory.expectations.Wrote(key, version("1"), version("2"), r.Now())
	r.memory.expectations.End(key)
	g.Expect(r.memory.expectations.Begin(version("1"), r.Now())).NotTo(BeZero(), "the next reconcile does not wait for the write")
	r.memory.pending.news(key)
	g.Expect(r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})).Error().NotTo(HaveOccurred())
	g.Expect(r.memory.expectations.Begin(version("1"), r.Now())).To(BeZero())
	_, kept := r.memory.pending.Get(key)
	g.Expect(kept).To(BeFalse(), "unreported changes are kept")
}

func TestReconcile_waitsUntilCacheHoldsOwnWrite(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	r := reconciler(w)
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(fakecluster.StoredEcho())}
	for i, writes := range []bool{true, false} {
		w.Writes = nil
		response, err := r.Reconcile(t.Context(), request)
		g.Expect(err).NotTo(HaveOccurred())
		wrote := len(w.Writes) > 0
		g.Expect(wrote).To(Equal(writes), "reconcile %d", i)
		if waits := response.RequeueAfter == queue.CacheLag; waits == writes {
			t.Errorf("reconcile %d: the next one is after %s", i, response.RequeueAfter)
		}
	}
}

// TestReconcile_stallsByARefusal checks that an Echo becomes stalled when a rejection has lasted for a minute. After that, the operator
// reconciles the Echo at a fixed rate.
func TestReconcile_stallsByARefusal(t *testing.T) {
	g := NewWithT(t)
	w := fakecluster.New(t, fakecluster.StoredEcho())
	w.FailOn("apply Service", apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "x", errors.New("no")))
	now := w.Dependencies.Now()
	w.Dependencies.Now = func() time.Time { return now }
	r := failing(w)
	isStalled := func() bool { return meta.IsStatusConditionTrue(w.Current(t).Status.Conditions, v1.ConditionStalled) }
	for range 20 {
		if isStalled() {
			break
		}
		result, err := r.reconcile(t.Context(), w.Current(t))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
		now = now.Add(result.RequeueAfter)
	}
	g.Expect(now).To(Equal(time.Unix(1000, 0).Add(time.Minute + status.LookPeriod)))
	w.FailOn("", nil)
	g.Expect(r.reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(isStalled()).To(BeFalse())
}
