package controllers

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// checkedEcho returns an Echo with the check "path", which its status names.
func checkedEcho(changes ...func(*v1.Echo)) *v1.Echo {
	return StoredEcho(append([]func(*v1.Echo){func(e *v1.Echo) {
		e.Spec.Checks = []v1.EchoCheck{{Name: "path", Schedule: "@hourly", URL: "http://x.ns.svc", DeadlineSeconds: 60}}
		e.Status.Checks = []v1.EchoCheckStatus{{Name: "path"}}
	}}, changes...)...)
}

// checkReconciler returns a reconciler for a fake cluster, and a function that reconciles the checks of the Echo "x" once.
func checkReconciler(t *testing.T, w *World) (*CheckReconciler, func() (ctrl.Result, error)) {
	w.Dependencies.Images.PathCheck = "quay.io/echo-operator/echo-operator-pathcheck:v1"
	r := &CheckReconciler{Dependencies: w.Dependencies}
	return r, func() (ctrl.Result, error) { return r.Reconcile(t.Context(), requestForEcho()) }
}

// reconcileChecks reconciles the checks of the Echo "x". It returns the writes, and the names of the checks in the resulting status.
func reconcileChecks(t *testing.T, w *World) (writes, named []string, next ctrl.Result) {
	t.Helper()
	_, run := checkReconciler(t, w)
	next, err := run()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, check := range w.Current(t).Status.Checks {
		named = append(named, check.Name)
	}
	return w.Writes, named, next
}

// pathCronJob is the name of the CronJob for the check "path" of the Echo "x".
const pathCronJob = "x-path-1bb0732a"

func ownedCronJob(owner client.Object) *batchv1.CronJob {
	return &batchv1.CronJob{Namespace: "ns", Name: pathCronJob, UID: "cronjob-uid",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1.GroupVersion.WithKind("Echo"))}}
}

func TestCheckReconciler_namesCheckBeforeCreatingCronJob(t *testing.T) {
	w := New(t, checkedEcho(func(e *v1.Echo) { e.Status.Checks = nil }))
	if writes, named, _ := reconcileChecks(t, w); !slices.Equal(writes, []string{"patch status"}) || !slices.Equal(named, []string{"path"}) {
		t.Errorf("the first reconcile wrote %v, and the status names %v", writes, named)
	}
	w.Writes = nil
	if writes, _, _ := reconcileChecks(t, w); !slices.Equal(writes, []string{"apply CronJob"}) {
		t.Errorf("the second reconcile wrote %v", writes)
	}
}

// TestCheckReconciler_readsServiceOfEcho checks that a check connects to the Service unless only the pods on the check's node would respond.
func TestCheckReconciler_readsServiceOfEcho(t *testing.T) {
	echo := checkedEcho()
	for policy, connects := range map[corev1.ServiceInternalTrafficPolicy]bool{"Cluster": true, "Local": false} {
		service := OwnedService(echo)
		service.Spec.InternalTrafficPolicy = &policy
		w := New(t, echo, service)
		arguments := appliedContainer(t, w).Args
		NewWithT(t).Expect(slices.Contains(arguments, "--own-service=http://x.ns.svc")).To(Equal(connects), "%s: %q", policy, arguments)
	}
}

// TestCheckReconciler_proxy checks that a CronJob contains the operator's forward proxy unless its URL contains a password.
func TestCheckReconciler_proxy(t *testing.T) {
	for proxy, want := range map[string][]corev1.EnvVar{"": nil, "http://u:secret@proxy:3128": nil,
		"http://proxy:3128": {{Name: "HTTP_PROXY", Value: "http://proxy:3128"}}} {
		w := New(t, checkedEcho(func(e *v1.Echo) { e.Spec.Checks[0].URL = "http://shop.example.com" }))
		w.Dependencies.Policy.AnyCheckURL, w.Dependencies.Proxies.HTTPProxy = true, proxy
		NewWithT(t).Expect(appliedContainer(t, w).Env).To(Equal(want), proxy)
	}
}

// appliedContainer reconciles the checks, and returns the container in the CronJob that the operator applies.
func appliedContainer(t *testing.T, w *World) corev1.Container {
	t.Helper()
	job := &batchv1.CronJob{}
	w.Dependencies.Client = interceptor.NewClient(w.Cache, interceptor.Funcs{
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
			body, err := patch.Data(object)
			return errors.Join(err, json.Unmarshal(body, job))
		}})
	reconcileChecks(t, w)
	return job.Spec.JobTemplate.Spec.Template.Spec.Containers[0]
}

// TestCheckReconciler_refusesCheck checks that a check has no CronJob if its pods violate the standard or a field is not valid.
func TestCheckReconciler_refusesCheck(t *testing.T) {
	baseline, err := objects.NewPodSecurity("baseline")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, change := range map[string]func(*v1.Echo){
		"privileged pods": func(e *v1.Echo) {
			e.Spec.CommonMetadata = &v1.CommonMetadata{Annotations: map[string]string{
				"container.apparmor.security.beta.kubernetes.io/check": "unconfined"}}
		},
		"an unknown group":    func(e *v1.Echo) { e.Spec.Checks[0].Groups = []string{"others"} },
		"an invalid schedule": func(e *v1.Echo) { e.Spec.Checks[0].Schedule = "TZ=UTC" }, // the cron library panics if it parses this
	} {
		w := New(t, checkedEcho(change))
		w.Dependencies.Policy.PodSecurity, w.Dependencies.Policy.AnyCheckURL = baseline, true
		_, run := checkReconciler(t, w)
		if _, err := run(); !errors.Is(err, reconcile.TerminalError(nil)) || !slices.Equal(w.Writes, []string{"patch status"}) {
			t.Errorf("%s: the reconcile wrote %v: %v", name, w.Writes, err)
		}
	}
}

// TestCheckReconciler_waitsForExternalURL checks that a check whose URL may be allowed later has no CronJob, and that it needs no user.
func TestCheckReconciler_waitsForExternalURL(t *testing.T) {
	w := New(t, checkedEcho(func(e *v1.Echo) {
		e.Spec.Gateway, e.Spec.Checks[0].URL, e.Status.ExternalURL = &v1.EchoGateway{Enabled: new(true)}, "https://shop.example.com/", ""
		e.Status.Checks[0].Result = v1.CheckPassed
	}))
	reconcileChecks(t, w)
	if got := w.Current(t).Status.Checks[0].Message; !strings.HasPrefix(got, "The Echo has no external URL yet.") || !slices.Equal(w.Writes, []string{"patch status"}) {
		t.Errorf("the message is %q, and the writes are %v", got, w.Writes)
	}
}

// TestCheckReconciler_reportsRejectedCronJob checks that a CronJob that the API server rejects affects only the status of its check.
func TestCheckReconciler_reportsRejectedCronJob(t *testing.T) {
	g := NewWithT(t)
	w := New(t, checkedEcho())
	w.FailOn("apply CronJob", apierrors.NewInvalid(schema.GroupKind{Group: "batch", Kind: "CronJob"}, pathCronJob,
		field.ErrorList{field.Invalid(field.NewPath("spec", "schedule"), "@hourly", "not today")}))
	_, run := checkReconciler(t, w)
	g.Expect(run()).Error().To(HaveOccurred())
	echo := w.Current(t)
	g.Expect(echo.Status.Checks).To(ConsistOf(And(HaveField("Result", v1.CheckUnknown), HaveField("Message", HavePrefix(
		"The check cannot run. The API server rejects the CronJob "+pathCronJob+`: "spec.schedule: Invalid value: '@hourly': not today".`)))))
	g.Expect(echo.Status.Conditions).To(ConsistOf(And(HaveField("Type", v1.ConditionPathsHealthy), HaveField("Reason", "CheckUnknown"))))
}

// TestPrune_deletesCronJobMissingFromCache checks that the status names a former check until the API server has no CronJob of it.
func TestPrune_deletesCronJobMissingFromCache(t *testing.T) {
	echo := StoredEcho(func(e *v1.Echo) { e.Status.Checks = []v1.EchoCheckStatus{{Name: "path"}} })
	w := NewLate(t, []client.Object{echo}, []client.Object{echo, ownedCronJob(echo)})
	cacheLacksCronJobs(w)
	writes, named, next := reconcileChecks(t, w)
	if !slices.Contains(writes, "delete "+pathCronJob) || !slices.Equal(named, []string{"path"}) || next.RequeueAfter == 0 {
		t.Errorf("the first reconcile wrote %v, the status names %v, and the next one is in %s", writes, named, next.RequeueAfter)
	}
	if writes, named, next = reconcileChecks(t, w); len(named) > 0 || next.RequeueAfter != 0 {
		t.Errorf("the second reconcile wrote %v, the status names %v, and the next one is in %s", writes, named, next.RequeueAfter)
	}
}

// cacheLacksCronJobs makes the operator read CronJobs from the cache, which lacks them, and everything else from the API server.
func cacheLacksCronJobs(w *World) {
	w.Dependencies.Client = interceptor.NewClient(Stripped(w.Server, objects.Strip), interceptor.Funcs{
		Get: func(ctx context.Context, server client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, ok := object.(*batchv1.CronJob); ok {
				return w.Cache.Get(ctx, key, object, options...)
			}
			return server.Get(ctx, key, object, options...)
		}})
}

func TestCheckReconciler_reportsHeldCronJob(t *testing.T) {
	echo := checkedEcho()
	job := ownedCronJob(echo)
	job.DeletionTimestamp, job.Finalizers = new(metav1.Now()), []string{"example.org/theirs"}
	w := New(t, echo, job)
	reconcileChecks(t, w)
	NewWithT(t).Expect(w.Current(t).Status.Checks).To(HaveExactElements(HaveField("Message",
		HavePrefix("The check cannot run. The CronJob "+pathCronJob+" is being deleted, but still has the finalizer example.org/theirs."))))
}

func TestPrune_forgetsCheckWhoseCronJobIsBeingDeleted(t *testing.T) {
	echo := StoredEcho(func(e *v1.Echo) { e.Status.Checks = []v1.EchoCheckStatus{{Name: "path"}} })
	job := ownedCronJob(echo)
	job.DeletionTimestamp, job.Finalizers = new(metav1.Now()), []string{"example.org/theirs"}
	if _, named, next := reconcileChecks(t, New(t, echo, job)); len(named) > 0 || next.RequeueAfter != 0 {
		t.Errorf("the status names %v, and the next reconcile is in %s", named, next.RequeueAfter)
	}
}

// TestReconcile_deletesCronJobOfRefusedCheckThatTheCacheLacks covers a CronJob whose label another client removed.
func TestReconcile_deletesCronJobOfRefusedCheckThatTheCacheLacks(t *testing.T) {
	echo := checkedEcho(func(e *v1.Echo) { e.Spec.Checks[0].URL = "http://elsewhere" })
	w := NewLate(t, []client.Object{echo}, []client.Object{echo, ownedCronJob(echo)})
	cacheLacksCronJobs(w)
	_, run := checkReconciler(t, w)
	if _, err := run(); !errors.Is(err, reconcile.TerminalError(nil)) || !slices.Contains(w.Writes, "delete "+pathCronJob) {
		t.Errorf("the reconcile wrote %v, and returned %v", w.Writes, err)
	}
}

// TestPrune_keepsForeignCronJob checks that the removal of a check keeps a CronJob that has the expected name, but another owner.
func TestPrune_keepsForeignCronJob(t *testing.T) {
	echo := StoredEcho(func(e *v1.Echo) { e.Status.Checks = []v1.EchoCheckStatus{{Name: "path"}} })
	w := New(t, echo, ownedCronJob(StoredEcho(func(e *v1.Echo) { e.UID = "another" })))
	if writes, named, _ := reconcileChecks(t, w); !slices.Equal(writes, []string{"patch status"}) || len(named) > 0 {
		t.Errorf("the reconcile wrote %v, and the status names %v", writes, named)
	}
}

// TestCheckReconciler_retriesDespiteRejectedCheck checks that a check is retried even if another check of the Echo is not allowed.
func TestCheckReconciler_retriesDespiteRejectedCheck(t *testing.T) {
	echo := checkedEcho(func(e *v1.Echo) {
		e.Spec.Checks = append([]v1.EchoCheck{{Name: "other", Schedule: "@hourly", URL: "http://elsewhere"}}, e.Spec.Checks...)
		e.Status.Checks = append(e.Status.Checks, v1.EchoCheckStatus{Name: "other"})
	})
	w := New(t, echo)
	w.FailOn("apply CronJob", apierrors.NewInternalError(errors.New("request timed out")))
	r, run := checkReconciler(t, w)
	if _, err := run(); !apierrors.IsInternalError(err) || errors.Is(err, reconcile.TerminalError(nil)) {
		t.Errorf("the reconcile returned %v", err)
	}
	NewWithT(t).Expect(w.Server.Delete(t.Context(), echo)).To(Succeed())
	_, err := run()
	if _, remembered := r.failures.of.Load(client.ObjectKeyFromObject(echo)); err != nil || remembered {
		t.Errorf("the operator still remembers the failures of a deleted Echo: %v", err)
	}
}

// TestCheckReconciler_tryPod checks that tryPod creates nothing, and reports only rejections that Kubernetes' controllers would also get.
func TestCheckReconciler_tryPod(t *testing.T) {
	forbidden := func(words string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New(words))
	}
	for name, c := range map[string]struct {
		answer error
		want   string
	}{
		"all is well":     {},
		"a quota of pods": {forbidden("exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"), "A resource quota rejects the Pod of the check"},
		"a policy":        {forbidden("violates PodSecurity"), "The API server forbids the Pod of the check"},
		"a missing right": {forbidden(`User "u" cannot create resource "pods"`), ""},
		"no dry run":      {apierrors.NewBadRequest(`admission webhook "w" does not support dry run`), ""},
		"no API server":   {errors.New("connection refused"), ""},
	} {
		w := New(t)
		w.Dependencies.Client = interceptor.NewClient(w.Cache, interceptor.Funcs{
			Create: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.CreateOption) error {
				NewWithT(t).Expect((&client.CreateOptions{}).ApplyOptions(options).DryRun).To(Equal([]string{metav1.DryRunAll}))
				return c.answer
			}})
		r := &CheckReconciler{Dependencies: w.Dependencies}
		got := r.tryPod(t.Context(), &batchv1.CronJob{Namespace: "ns", Name: pathCronJob})
		if c.want == "" {
			NewWithT(t).Expect(got).To(BeZero(), name)
		} else {
			NewWithT(t).Expect(got.String()).To(ContainSubstring(c.want), name)
		}
	}
}
