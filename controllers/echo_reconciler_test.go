package controllers

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/internal/status"
)

func TestReconcile_requeuesRejectedEchoWithUnwatchedObject(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: *OwnedService(StoredEcho()).ObjectMeta.DeepCopy(),
		Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}}
	for label, want := range map[string]bool{"echo-operator": false, "Helm": true} {
		deployment.Labels = map[string]string{"app.kubernetes.io/managed-by": label}
		w := New(t, StoredEcho(func(e *v1.Echo) { e.Spec.Replicas = new(int32(21)) }), deployment)
		response, err := echoReconciler(w).reconcile(t.Context(), w.Current(t))
		if looks := response.RequeueAfter > 0; looks != want || (err == nil) != want {
			t.Errorf("with the label %s: %+v, %v", label, response, err)
		}
	}
}

// TestReconcile_stallsByARefusal checks that an Echo becomes stalled when a rejection has lasted for a minute. After that, the operator
// reconciles the Echo at a fixed rate.
func TestReconcile_stallsByARefusal(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
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

func readyReport() status.Report {
	return status.Report{
		Status:      v1.EchoStatus{Phase: v1.PhaseReady, Pods: map[string][]string{}},
		Transitions: []status.Transition{{Reason: v1.EventReady, Action: "Reconcile", Note: "2 of 2 pods are ready."}},
	}
}

func TestPublish_writesStatusThenReports(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
	g.Expect(echoReconciler(w).publish(t.Context(), w.Current(t), readyReport())).To(Succeed())
	g.Expect(w.Current(t).Status.Phase).To(Equal(v1.PhaseReady))
	g.Expect(w.Events()).To(HaveExactElements("Normal Ready 2 of 2 pods are ready."))
}

func TestPublish_skipsUnchangedStatus(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho(func(e *v1.Echo) { e.Status = readyReport().Status }))
	g.Expect(echoReconciler(w).publish(t.Context(), w.Current(t), status.Report{Status: readyReport().Status})).To(Succeed())
	g.Expect(w.Writes).To(BeNil())
}

func TestPublish_reportsOnlyAfterStatusWrite(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
	w.Fail = func(string) error { return errors.New("no") }
	g.Expect(echoReconciler(w).publish(t.Context(), w.Current(t), readyReport())).To(HaveOccurred(), "the failure is hidden")
	g.Expect(w.Events()).To(BeNil())
}

func TestPublish_rejectsOutdatedEcho(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
	old := w.Current(t)
	old.ResourceVersion = "1"
	g.Expect(echoReconciler(w).publish(t.Context(), old, readyReport())).To(Satisfy(apierrors.IsConflict))
	g.Expect(w.Events()).To(BeNil())
}

func TestReconcile_retriesMissingEchoQuietly(t *testing.T) {
	w := New(t)
	gone := StoredEcho(func(e *v1.Echo) { e.ResourceVersion, e.Spec.Paused = "1", true })
	if result, err := echoReconciler(w).reconcile(t.Context(), gone); err != nil || result.RequeueAfter != FirstRetry ||
		w.Events() != nil {
		t.Errorf("got %+v, %v", result, err)
	}
}

// TestReconcile_reportsWriteAtOnce checks that the event for a new Deployment does not wait until the status can be written.
func TestReconcile_reportsWriteAtOnce(t *testing.T) {
	g := NewWithT(t)
	w := New(t, StoredEcho())
	w.FailOn("patch status", errors.New("no"))
	g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().To(HaveOccurred())
	g.Expect(w.Events()).To(HaveExactElements(HavePrefix("Normal Deployed")))
}
