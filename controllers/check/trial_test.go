package check

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/echo-operator/echo-operator/internal/status/checks"
	"github.com/echo-operator/echo-operator/internal/status/remedy"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

// TestReconciler_tryRun checks that tryRun creates nothing, and that it reports only rejections that Kubernetes' controllers would also
// get.
func TestReconciler_tryRun(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	forbidden := func(words string) error { return apierrors.NewForbidden(things, "x", errors.New(words)) }
	const quota = "exceeded quota: few, requested: pods=1, used: pods=2, limited: pods=2"
	for name, c := range map[string]struct {
		lacks    checks.Lacks
		job, pod error
		tried    []string
		want     string
	}{
		"nothing lacks":   {want: ""},
		"all is well":     {lacks: checks.Lacks{Job: true, Pod: true}, tried: []string{"Job", "Pod"}},
		"a quota of Jobs": {checks.Lacks{Job: true, Pod: true}, forbidden(quota), nil, []string{"Job"}, "the resource quota few has no room for the Job of the check (pods)"},
		"a quota of pods": {checks.Lacks{Pod: true}, nil, forbidden(quota), []string{"Pod"}, "the resource quota few has no room for the Pod of the check (pods)"},
		"a policy":        {checks.Lacks{Pod: true}, nil, forbidden("violates PodSecurity"), []string{"Pod"}, "the API server forbids the Pod of the check"},
		"a missing right": {checks.Lacks{Job: true, Pod: true}, forbidden(`User "u" cannot create resource "jobs"`), nil, []string{"Job", "Pod"}, ""},
		"no dry run":      {checks.Lacks{Pod: true}, nil, apierrors.NewBadRequest(`admission webhook "w" does not support dry run`), []string{"Pod"}, ""},
		"no API server":   {checks.Lacks{Pod: true}, nil, errors.New("connection refused"), []string{"Pod"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w, tried := fakecluster.New(t), []string(nil)
			w.Dependencies.Client = interceptor.NewClient(w.Server, interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, options ...client.CreateOption) error {
					NewWithT(t).Expect((&client.CreateOptions{}).ApplyOptions(options).DryRun).To(Equal([]string{metav1.DryRunAll}))
					kind := reflect.TypeOf(object).Elem().Name()
					tried = append(tried, kind)
					return map[string]error{"Job": c.job, "Pod": c.pod}[kind]
				}})
			r := &Reconciler{Dependencies: w.Dependencies}
			got := ""
			if err := r.tryRun(t.Context(), &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x-path"}}, c.lacks); err != nil {
				got = remedy.Of(err).Text
			}
			if got != c.want || !slices.Equal(tried, c.tried) {
				t.Errorf("the dry runs tried %v: %s", tried, got)
			}
		})
	}
}
