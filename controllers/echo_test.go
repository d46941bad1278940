package controllers

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
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
	if result, err := echoReconciler(w).reconcile(t.Context(), gone); err != nil || result.RequeueAfter != firstRetry ||
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

func TestReconcile_clearsNumbersOfMissingDeployment(t *testing.T) {
	w := New(t, StoredEcho(func(e *v1.Echo) {
		e.Spec.Paused, e.Finalizers = true, []string{v1.Finalizer}
		e.Status = v1.EchoStatus{Replicas: 2, ReadyReplicas: 2, UpdatedReplicas: 2}
	}))
	NewWithT(t).Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	if s := w.Current(t).Status; s.Replicas+s.ReadyReplicas+s.UpdatedReplicas != 0 {
		t.Errorf("the status reports %d, %d, and %d replicas", s.Replicas, s.ReadyReplicas, s.UpdatedReplicas)
	}
}

func TestListPods(t *testing.T) {
	newer, elsewhere := EchoPod(), EchoPod()
	newer.Name, newer.CreationTimestamp, elsewhere.Namespace = "x-2", metav1.Unix(1, 0), "elsewhere"
	w := New(t, EchoPod(), newer, elsewhere, CompanionPod(t))
	for _, c := range []struct {
		from  client.Reader
		which client.ListOption
	}{{w.Cache, cachedPodsOf(StoredEcho())}, {w.Server, client.MatchingLabels(objects.InstanceLabels(StoredEcho()))}} {
		pods, companions, err := listPods(t.Context(), c.from, StoredEcho(), c.which)
		if err != nil || len(pods) != 2 || pods[0].Name != "x-2" || pods[1].Name != "x-1" || len(companions) != 1 {
			t.Errorf("got %v and %v, %v", pods, companions, err)
		}
	}
}

func TestNodesOf(t *testing.T) {
	node := []client.Object{&corev1.Node{Name: "n"}}
	pods := []*objects.Pod{objects.PodOf(EchoPod())}
	healthy, deleted := status.Node{Pods: 1}, status.Node{Pods: 1, Problems: status.ProblemsOf(nil)}
	known := func(e *v1.Echo) {
		e.Status.NodeProblems = []v1.EchoNodeProblems{{Name: "n", Problems: []string{status.NodeDeleted}}}
	}
	for name, c := range map[string]struct {
		cached, live []client.Object
		echo         *v1.Echo
		want         status.Node
	}{
		"cached":                    {node, nil, StoredEcho(), healthy},
		"not in the cache yet":      {nil, node, StoredEcho(), healthy},
		"gone":                      {nil, nil, StoredEcho(), deleted},
		"known to be gone":          {nil, node, StoredEcho(known), deleted}, // without a request
		"known to be gone, is back": {node, node, StoredEcho(known), healthy},
	} {
		got, err := echoReconciler(NewLate(t, c.cached, c.live)).nodesOf(t.Context(), c.echo, pods)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), name)
		NewWithT(t).Expect(got).To(BeComparableTo(map[string]status.Node{"n": c.want}), name)
	}
}

func TestWithChildren_reportsUnwatchedChild(t *testing.T) {
	g := NewWithT(t)
	for label, want := range map[string]bool{"echo-operator": false, "Helm": true} {
		service := OwnedService(StoredEcho())
		service.Labels = map[string]string{"app.kubernetes.io/managed-by": label}
		w := New(t, StoredEcho(), service)
		desired, err := objects.Desired(StoredEcho(), objects.Config{Images: w.Dependencies.Images})
		g.Expect(err).NotTo(HaveOccurred())
		found, err := readAll(t.Context(), w.Cache, StoredEcho(), desired, echoReconciler(w).readOwned)
		g.Expect(err).NotTo(HaveOccurred(), "with the label %s", label)
		g.Expect(withChildren(status.Observation{}, found).Unwatched).To(Equal(want), "with the label %s", label)
		for i := range found {
			found[i].after = service.DeepCopy()
			found[i].after.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "echo-operator"})
		}
		g.Expect(withChildren(status.Observation{}, found).Unwatched).To(BeFalse(), "a write has restored the label")
	}
}

// TestWithChildren_recordsFirstHeldObject checks desired and undesired children that another controller keeps.
func TestWithChildren_recordsFirstHeldObject(t *testing.T) {
	g := NewWithT(t)
	held := OwnedService(StoredEcho())
	held.DeletionTimestamp, held.Finalizers = new(metav1.Now()), []string{"example.org/theirs"}
	service := ensuredChild{child: service(t), before: held, after: held}
	unwanted := ensuredChild{child: objects.Child{Kind: "Ingress"}, before: held}
	for kind, found := range map[string][]ensuredChild{"Service": {service, unwanted}, "Ingress": {{child: service.child}, unwanted}} {
		seen := withChildren(status.Observation{}, found)
		g.Expect(seen.Held.Problem().Text).To(HavePrefix("the " + kind))
	}
}

func TestMissingCompanions(t *testing.T) {
	g := NewWithT(t)
	another := OwnerPod(func(p *corev1.Pod) { p.Name, p.UID = "web-1", "u1" })
	unscheduled := OwnerPod(func(p *corev1.Pod) { p.Name, p.UID, p.Spec.NodeName = "web-2", "u2", "" })
	finished := OwnerPod(func(p *corev1.Pod) { p.Name, p.UID, p.Status.Phase = "web-3", "u3", corev1.PodSucceeded })
	w := New(t, StoredEcho(), OwnerPod(), another, unscheduled, finished)
	for want, companions := range map[int][]*objects.Pod{2: nil, 1: {objects.PodOf(CompanionPod(t))}} {
		g.Expect(echoReconciler(w).missingCompanions(t.Context(), StoredEcho(), companions)).To(Equal(want))
	}
}

// echoReconciler returns a reconciler for a fake cluster.
func echoReconciler(w *World) *EchoReconciler {
	return &EchoReconciler{Dependencies: w.Dependencies, Labeled: w.Labeled()}
}

// failing returns a reconciler whose reconciles of the Echo have failed long enough for the status to report the failure.
func failing(w *World) *EchoReconciler {
	r := echoReconciler(w)
	r.failures.tolerate(client.ObjectKey{Namespace: "ns", Name: "x"}, status.Classify(ErrRefused),
		w.Dependencies.Now().Add(-Tolerance))
	return r
}

// requestForEcho returns the request for the Echo that StoredEcho returns.
func requestForEcho() ctrl.Request {
	return ctrl.Request{Namespace: "ns", Name: "x"}
}

// unwantedBudget returns the PodDisruptionBudget of an Echo that no longer requests one.
func unwantedBudget(echo *v1.Echo) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{Namespace: "ns", Name: "x", UID: "budget-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(echo, v1.GroupVersion.WithKind("Echo"))}}
}

func TestReconcile_eachWriteThatFails(t *testing.T) {
	g := NewWithT(t)
	echo := StoredEcho(func(e *v1.Echo) {
		e.Finalizers = nil
		e.Spec.DisruptionBudget.Enabled = new(false)
		e.Spec.Ingress = &v1.EchoIngress{Enabled: new(true), Host: "echo.example.com"}
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: new(true)}
	})
	all := []string{"patch x", "apply NetworkPolicy", "apply Service", "apply Deployment", "delete x", "apply Ingress"}
	for i, write := range all {
		t.Run(write, func(t *testing.T) {
			g := NewWithT(t)
			w := New(t, echo, unwantedBudget(echo))
			w.FailOn(write, ErrRefused)
			_, err := failing(w).reconcile(t.Context(), w.Current(t))
			g.Expect(err).To(MatchError(ErrRefused))
			g.Expect(w.Writes).To(BeComparableTo(append(slices.Clone(all[:i+1]), "patch status")), "the writes")
			got := meta.FindStatusCondition(w.Current(t).Status.Conditions, v1.ConditionDegraded)
			if got == nil || got.Status != metav1.ConditionTrue || got.Reason != "ApplyFailed" || !strings.Contains(got.Message, `refused". The operator retries automatically.`) {
				t.Errorf("the status says %+v", got)
			}
		})
	}
	w := New(t, echo, unwantedBudget(echo))
	g.Expect(echoReconciler(w).reconcile(t.Context(), w.Current(t))).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(HaveExactElements(append(all, "patch status")))
}

// readsOf returns the reads of a reconcile in which nothing fails. least is the minimum number of reads: the test fails if there are fewer.
func readsOf(t *testing.T, objects []client.Object, least int) []string {
	t.Helper()
	w := New(t, objects...)
	echo, reads := w.Current(t), w.FailRead(0)
	if _, err := echoReconciler(w).reconcile(t.Context(), echo); err != nil || len(*reads) < least {
		t.Fatalf("the reconcile reads %v: %v", *reads, err)
	}
	return *reads
}

func TestReconcile_toleratesFirstFailure(t *testing.T) {
	w := New(t, StoredEcho())
	w.Fail = func(string) error { return ErrRefused }
	if _, err := echoReconciler(w).reconcile(t.Context(), w.Current(t)); !errors.Is(err, ErrRefused) ||
		!slices.Equal(w.Writes, []string{"apply Service"}) || w.Events() != nil {
		t.Errorf("the reconcile wrote %v: %v", w.Writes, err)
	}
}

func TestReconcile_eachReadThatFails(t *testing.T) {
	echo := StoredEcho()
	objects := []client.Object{echo, EchoPod(), OwnedService(echo)} // the pod's node is gone
	for i, read := range readsOf(t, objects, 9) {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			g := NewWithT(t)
			w := New(t, objects...)
			current := w.Current(t)
			w.FailRead(i + 1)
			g.Expect(failing(w).reconcile(t.Context(), current)).Error().To(MatchError(ErrRefused))
			g.Expect(w.Writes).To(HaveExactElements("patch status"))
			if status := w.Current(t).Status; status.Phase != v1.PhaseWarning || status.Conditions[0].Status != metav1.ConditionUnknown {
				t.Errorf("the status is %+v", status)
			}
		})
	}
}

// TestReconcile_eachReadThatFailsWhenANameIsTaken checks that the reconcile is retried. If the name conflict hid the failed read, the next
// reconcile would start only after a minute. The status must not keep the counts of a Deployment that the Echo no longer owns.
func TestReconcile_eachReadThatFailsWhenANameIsTaken(t *testing.T) {
	echo := StoredEcho()
	foreign := &appsv1.Deployment{Namespace: "ns", Name: "x", UID: "foreign-uid"}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "x", errors.New("it exists"))
	reconcileWithout := func(t *testing.T, read int) ([]string, error) {
		t.Helper()
		w := New(t, echo, OwnedService(echo), foreign)
		w.FailOn("apply Deployment", conflict)
		current, reads := w.Current(t), w.FailRead(read)
		_, err := echoReconciler(w).reconcile(t.Context(), current)
		return *reads, err
	}
	reads, err := reconcileWithout(t, 0)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "the name is checked again after a minute")
	NewWithT(t).Expect(reads).To(ContainElement("API server: get *v1.Deployment"))
	for i, read := range reads {
		if _, err := reconcileWithout(t, i+1); !errors.Is(err, ErrRefused) {
			t.Errorf("read %d, %s: the reconcile returned %v", i+1, read, err)
		}
	}
}

func TestReconcileDelete_stopsAtEachFailedRead(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	// A reconcile of a deleted Echo that has no children left reads everything from both the cache and the API server.
	for i, read := range readsOf(t, []client.Object{echo}, 10) {
		t.Run(fmt.Sprintf("%d, %s", i+1, read), func(t *testing.T) {
			w := New(t, echo)
			current := w.Current(t)
			w.FailRead(i + 1)
			if _, err := echoReconciler(w).reconcile(t.Context(), current); !errors.Is(err, ErrRefused) || w.Writes != nil || gone(t, w) {
				t.Errorf("the reconcile wrote %v: %v", w.Writes, err)
			}
		})
	}
}

func TestReconcileDelete_stopsAtEachFailedWrite(t *testing.T) {
	echo := deletedEcho(v1.Finalizer)
	companion := CompanionPod(t)
	all := []string{"delete x", "delete x", "delete " + companion.Name}
	for i := range all {
		w := New(t, echo, OwnedService(echo), unwantedBudget(echo), companion)
		w.Fail = func(string) error {
			if len(w.Writes) == i+1 {
				return ErrRefused
			}
			return nil
		}
		if _, err := echoReconciler(w).reconcile(t.Context(), w.Current(t)); !errors.Is(err, ErrRefused) ||
			!slices.Equal(w.Writes, all[:i+1]) || gone(t, w) {
			t.Errorf("write %d: the reconcile wrote %v: %v", i+1, w.Writes, err)
		}
		NewWithT(t).Expect(w.Events()).To(BeNil(), "write %d", i+1)
	}
}

func TestRelease_keepsEchoAfterFailedWrite(t *testing.T) {
	for name, echo := range map[string]*v1.Echo{
		"deleted":  deletedEcho(v1.Finalizer),
		"orphaned": deletedEcho(v1.Finalizer, metav1.FinalizerOrphanDependents),
	} {
		w := New(t, echo)
		w.FailOn("patch x", ErrRefused)
		_, err := echoReconciler(w).reconcile(t.Context(), w.Current(t))
		if !errors.Is(err, ErrRefused) || gone(t, w) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestIsGatewayKindGone_onlyOptionalAndDesired(t *testing.T) {
	for name, child := range map[string]objects.Child{
		"optional, not desired": {Optional: true}, "of each cluster": service(t),
	} {
		gone := isGatewayKindGone(child, apierrors.NewNotFound(schema.GroupResource{}, "x"))
		NewWithT(t).Expect(gone).To(BeFalse(), name)
	}
}

// TestEchoWriter_writesAMapOfPods checks that the stored status always contains a map of pods. Otherwise, the console displays nothing.
func TestEchoWriter_writesAMapOfPods(t *testing.T) {
	none, one := map[string][]string{}, map[string][]string{"Ready": {"p"}}
	for name, c := range map[string]struct {
		phase               string
		before, after, want map[string][]string
	}{
		"before the pods were read": {"", nil, nil, none},
		"no pods":                   {"", nil, none, none},
		"a status without it":       {v1.PhaseReady, nil, none, none},
		"the first pod":             {v1.PhaseReady, none, one, one},
		"the last pod is gone":      {v1.PhaseReady, one, none, none},
	} {
		g := NewWithT(t)
		w := New(t, StoredEcho(func(e *v1.Echo) { e.Status = v1.EchoStatus{Phase: c.phase, Pods: c.before} }))
		status := &v1.EchoStatus{Phase: v1.PhaseReady, Pods: c.after}
		for range 2 {
			echo := w.Current(t)
			g.Expect(echoReconciler(w).echoWriter(echo).setStatus(t.Context(), echo, status)).To(Succeed(), name)
		}
		g.Expect(w.Current(t).Status.Pods).To(Equal(c.want), name)
		g.Expect(w.Writes).To(HaveLen(1), "%s: a status that is written once does not differ", name)
	}
}

func TestEchoWriter_removesClearedStatusFields(t *testing.T) {
	w := New(t, StoredEcho(func(e *v1.Echo) { e.Status.Message, e.Status.URL = "Old.", "old" }))
	echo := w.Current(t)
	NewWithT(t).Expect(echoReconciler(w).echoWriter(echo).setStatus(t.Context(), echo, &v1.EchoStatus{URL: "new"})).To(Succeed())
	stored := w.Current(t)
	if stored.Status.Message != "" || stored.Status.URL != "new" || echo.ResourceVersion != stored.ResourceVersion {
		t.Errorf("the status is %+v, the versions are %s and %s", stored.Status, echo.ResourceVersion, stored.ResourceVersion)
	}
}
