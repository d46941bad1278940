package scorecard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// errInjected is the error that failing requests return.
var errInjected = errors.New("injected")

// world is a fake API server with an operator that makes each new Echo Ready immediately.
type world struct {
	*cluster
	// fail holds the errors that requests return, by verb and kind, such as "get Echo".
	fail map[string]error
	// requests records the requests so far, by verb and kind.
	requests map[string]bool
	// allowed returns the response to a SubjectAccessReview.
	allowed func(authorizationv1.SubjectAccessReviewSpec) bool
	// If ready is true, every new Echo becomes Ready, and gets a copy of pod unless pod is nil.
	ready bool
	pod   *corev1.Pod
	// made holds the created objects, and validation is the field validation that the last create request asked for.
	made       []client.Object
	validation string
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme, err := newScheme()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	w := &world{fail: map[string]error{}, requests: map[string]bool{}, ready: true}
	w.allowed = allowedBy(ownBundle(t))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(w.interceptor(scheme)).Build()
	w.cluster = &cluster{Client: c, namespace: "echoes"}
	return w
}

// allowedBy returns a function that responds to reviews as if the operator had the permissions that a bundle lists.
func allowedBy(b Bundle) func(authorizationv1.SubjectAccessReviewSpec) bool {
	listed := map[authorizationv1.ResourceAttributes]bool{}
	for _, c := range checksOf(b, "operators", "echoes") {
		attributes := c.review("", "").Spec.ResourceAttributes
		listed[*attributes] = listed[*attributes] || c.isListed
	}
	return func(spec authorizationv1.SubjectAccessReviewSpec) bool { return listed[*spec.ResourceAttributes] }
}

func (w *world) interceptor(scheme *runtime.Scheme) interceptor.Funcs {
	request := func(verb string, object runtime.Object) error {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return err
		}
		name := verb + " " + strings.TrimSuffix(gvk.Kind, "List")
		w.requests[name] = true
		return w.fail[name]
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return cmp.Or(request("get", object), c.Get(ctx, key, object, options...))
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return cmp.Or(request("list", list), c.List(ctx, list, options...))
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := request("create", object); err != nil {
				return err
			}
			w.validation = (&client.CreateOptions{}).ApplyOptions(options).FieldValidation
			return w.create(ctx, c, object)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := request("delete", object); err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
	}
}

// create responds to a review, or creates an Echo and makes it Ready as the operator does.
func (w *world) create(ctx context.Context, c client.WithWatch, object client.Object) error {
	if review, ok := object.(*authorizationv1.SubjectAccessReview); ok {
		review.Status.Allowed = w.allowed(review.Spec)
		return nil
	}
	w.made = append(w.made, object.DeepCopyObject().(client.Object))
	if err := c.Create(ctx, object); err != nil || !w.ready {
		return err
	}
	if w.pod != nil {
		pod := w.pod.DeepCopy()
		pod.Namespace, pod.Name = object.GetNamespace(), "served"
		pod.Labels = map[string]string{"app.kubernetes.io/managed-by": "echo-operator", "app.kubernetes.io/instance": object.GetName()}
		if err := c.Create(ctx, pod); err != nil {
			return err
		}
	}
	echo := &v1.Echo{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), echo); err != nil {
		return err
	}
	echo.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: echo.Generation}}
	return c.Update(ctx, echo)
}

// expectNoEchoes fails the test if an Echo still exists.
func (w *world) expectNoEchoes(t *testing.T) {
	t.Helper()
	clear(w.fail)
	left := &v1.EchoList{}
	if err := w.List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("the remaining Echoes are %v, %v, want no Echo", left.Items, err)
	}
}

// ownBundle returns the bundle with its first two examples.
func ownBundle(t *testing.T) Bundle {
	t.Helper()
	b, err := ReadBundle("../../bundle")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	b.Examples = b.Examples[:2]
	return b
}

// operatorPod returns a pod of the operator that a bundle installs.
func operatorPod(b Bundle) *corev1.Pod {
	template := b.Deployments[0].Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = "operators", "echo-operator-1"
	return pod
}

// TestRun_rejectsUnknownTests checks that the error for a typo in a scorecard configuration lists the known tests.
func TestRun_rejectsUnknownTests(t *testing.T) {
	_, err := newWorld(t).run(t.Context(), "Examples", ownBundle(t))
	if want := `there is no test "Examples": the tests are examples, permissions, and restricted`; err == nil || err.Error() != want {
		t.Errorf("the error is %v", err)
	}
}

func TestRun(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for folder, want := range map[string]string{
		"nowhere":      "reading the bundle: open nowhere/manifests",
		"../../bundle": rest.ErrNotInCluster.Error(),
	} {
		got := Run(t.Context(), "restricted", folder, "echo-scorecard").Results[0]
		if got.Name != "restricted" || got.State != "error" || !strings.Contains(strings.Join(got.Errors, "\n"), want) {
			t.Errorf("%s: %+v, want %q", folder, got, want)
		}
	}
}

func TestStatusOf(t *testing.T) {
	for want, r := range map[string]Status{
		`{"results":[{"name":"a","state":"pass","log":"went well"}]}`:            statusOf("a", nil, nil, "went well"),
		`{"results":[{"name":"a","state":"fail","errors":["x"]}]}`:               statusOf("a", []string{"x"}, nil, ""),
		`{"results":[{"name":"a","state":"error","errors":["x","no cluster"]}]}`: statusOf("a", []string{"x"}, errors.New("no cluster"), ""),
	} {
		if got, err := json.Marshal(r); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
