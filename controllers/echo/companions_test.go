package echo

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/echo-operator/echo-operator/internal/status"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

func TestReconciler_observeCompanions(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	node := func(cordoned bool) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
	}
	for name, c := range map[string]struct {
		objects    []client.Object
		companions []corev1.Pod
		err        error
		want       string
	}{
		"no pod requests one": {objects: []client.Object{node(false)}, want: "not tried"},
		"the companion exists": {objects: []client.Object{fakecluster.OwnerPod(), node(false)},
			companions: []corev1.Pod{*fakecluster.CompanionPod(t)}, want: "not tried"},
		"the node is cordoned": {objects: []client.Object{fakecluster.OwnerPod(), node(true)}, want: "not tried"},
		"nothing prevents it":  {objects: []client.Object{fakecluster.OwnerPod(), node(false)}},
		"the cache is late":    {objects: []client.Object{fakecluster.OwnerPod(), node(false)}, err: apierrors.NewAlreadyExists(pods, "x")},
		"the API server rejects it": {objects: []client.Object{fakecluster.OwnerPod(), node(false)}, err: errors.New("no"),
			want: "Pod ns/" + fakecluster.CompanionPod(t).Name + " cannot be created: no"},
	} {
		t.Run(name, func(t *testing.T) {
			g, w, got := NewWithT(t), fakecluster.New(t, append(c.objects, fakecluster.StoredEcho())...), "not tried"
			w.Dependencies.Client = interceptor.NewClient(w.Server, interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.CreateOption) error {
					g.Expect((&client.CreateOptions{}).ApplyOptions(options).DryRun).To(Equal([]string{metav1.DryRunAll}))
					got = ""
					return c.err
				}})
			seen := status.Observation{Companions: c.companions}
			g.Expect(reconciler(w).observeCompanions(t.Context(), fakecluster.StoredEcho(), &seen)).To(Succeed())
			if seen.CompanionError != nil {
				got = seen.CompanionError.Error()
			}
			g.Expect(got).To(Equal(c.want))
		})
	}
}
