package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// checkPass makes a pass over the checks of Echo "x", and returns the writes and the checks that the status names then.
func (w *world) checkPass(t *testing.T) (writes, named []string, next ctrl.Result) {
	t.Helper()
	g := NewWithT(t)
	w.dependencies.Images.PathCheck = "quay.io/echo-operator/echo-operator-pathcheck:v1"
	r := &CheckReconciler{Dependencies: w.dependencies}
	key := client.ObjectKey{Namespace: "ns", Name: "x"}
	next, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
	g.Expect(err).NotTo(HaveOccurred())
	echo := &v1.Echo{}
	g.Expect(w.server.Get(t.Context(), key, echo)).To(Succeed())
	for _, check := range echo.Status.Checks {
		named = append(named, check.Name)
	}
	return w.writes, named, next
}

func ownedCronJob(owner client.Object) *batchv1.CronJob {
	return &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x-path", UID: "cronjob-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1.GroupVersion.WithKind("Echo"))}}}
}

// TestStatusNamesACheckBeforeItsCronJob checks that a CronJob cannot be created of which nothing would tell.
func TestStatusNamesACheckBeforeItsCronJob(t *testing.T) {
	check := func(e *v1.Echo) {
		e.Spec.Checks = []v1.EchoCheck{{Name: "path", Schedule: "@hourly", URL: "http://x.ns.svc", DeadlineSeconds: 60}}
	}
	w := newWorld(t, storedEcho(check))
	if writes, named, _ := w.checkPass(t); !slices.Equal(writes, []string{"patch status"}) || !slices.Equal(named, []string{"path"}) {
		t.Errorf("the first pass wrote %v, and the status names %v", writes, named)
	}
	w.writes = nil
	if writes, _, _ := w.checkPass(t); !slices.Equal(writes, []string{"apply CronJob"}) {
		t.Errorf("the second pass wrote %v", writes)
	}
}

// TestCronJobOfAFormerCheckIsDeletedThoughTheCacheLacksIt checks that the status names a former check until the API server says that its CronJob is gone.
func TestCronJobOfAFormerCheckIsDeletedThoughTheCacheLacksIt(t *testing.T) {
	echo := storedEcho(func(e *v1.Echo) { e.Status.Checks = []v1.EchoCheckStatus{{Name: "path"}} })
	w := newLateWorld(t, []client.Object{echo}, []client.Object{echo, ownedCronJob(echo)})
	w.dependencies.Client = w.server
	writes, named, next := w.checkPass(t)
	if !slices.Contains(writes, "delete x-path") || !slices.Equal(named, []string{"path"}) || next.RequeueAfter == 0 {
		t.Errorf("it wrote %v, the status names %v, and it looks again in %s", writes, named, next.RequeueAfter)
	}
	if writes, named, next = w.checkPass(t); len(named) > 0 || next.RequeueAfter != 0 {
		t.Errorf("then it wrote %v, the status names %v, and it looks again in %s", writes, named, next.RequeueAfter)
	}
}

// TestCronJobsOfOthersStay checks that a CronJob that the Echo does not own is not deleted with a check of that name.
func TestCronJobsOfOthersStay(t *testing.T) {
	echo := storedEcho(func(e *v1.Echo) { e.Status.Checks = []v1.EchoCheckStatus{{Name: "path"}} })
	w := newWorld(t, echo, ownedCronJob(storedEcho(func(e *v1.Echo) { e.UID = "another" })))
	if writes, named, _ := w.checkPass(t); !slices.Equal(writes, []string{"patch status"}) || len(named) > 0 {
		t.Errorf("it wrote %v, and the status names %v", writes, named)
	}
}

// TestARefusedCheckKeepsNoOtherFromBeingRetried checks that a failure that may pass is retried, though another check of the Echo waits for an edit.
func TestARefusedCheckKeepsNoOtherFromBeingRetried(t *testing.T) {
	echo := storedEcho(func(e *v1.Echo) {
		e.Spec.Replicas, e.Spec.Service.Port = 1, 80
		for _, url := range []string{"http://elsewhere", "http://x.ns.svc"} {
			e.Spec.Checks = append(e.Spec.Checks, v1.EchoCheck{Name: strings.Trim(url, "htp:/."), Schedule: "@hourly", URL: url, DeadlineSeconds: 60})
		}
		e.Status.Checks = []v1.EchoCheckStatus{{Name: e.Spec.Checks[0].Name}, {Name: e.Spec.Checks[1].Name}}
	})
	w := newWorld(t, echo)
	w.dependencies.Images.PathCheck = "pathcheck:v1"
	w.failOn("apply CronJob", apierrors.NewInternalError(errors.New("request timed out")))
	r := &CheckReconciler{Dependencies: w.dependencies}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(echo)}); !apierrors.IsInternalError(err) ||
		errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("it ends with %v", err)
	}
}
