package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

// errInjected is the error of requests that are told to fail.
var errInjected = errors.New("injected")

// world is a fake API server. It is used for errors and states that a real one cannot be made to have.
type world struct {
	*cluster
	// fail names the requests that fail, by verb and kind, such as "get Echo".
	fail map[string]error
	// before is called before each request that does not fail.
	before func(request string, object runtime.Object)
	// allowed is the answer to a SubjectAccessReview.
	allowed func(authorizationv1.SubjectAccessReviewSpec) bool
	// ready makes every new Echo Ready.
	ready bool
	// validation is the field validation of the last creation.
	validation string
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w := &world{fail: map[string]error{}, before: func(string, runtime.Object) {}, ready: true}
	w.allowed = func(authorizationv1.SubjectAccessReviewSpec) bool { return true }
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(w.interceptor(scheme)).Build()
	w.cluster = &cluster{Client: c, token: "token", namespace: "echoes", patience: 90 * time.Second, period: 500 * time.Millisecond}
	return w
}

func (w *world) interceptor(scheme *runtime.Scheme) interceptor.Funcs {
	request := func(verb string, object runtime.Object) error {
		gvk, err := apiutil.GVKForObject(object, scheme)
		if err != nil {
			return err
		}
		name := verb + " " + strings.TrimSuffix(gvk.Kind, "List")
		if err := w.fail[name]; err != nil {
			return err
		}
		w.before(name, object)
		return nil
	}
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := request("get", object); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := request("list", list); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if err := request("create", object); err != nil {
				return err
			}
			w.validation = (&client.CreateOptions{}).ApplyOptions(options).FieldValidation
			return w.create(ctx, c, object)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if err := request("patch", object); err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if err := request("delete", object); err != nil {
				return err
			}
			return c.Delete(ctx, object, options...)
		},
	}
}

// create answers a review, and makes an Echo Ready as the operator does.
func (w *world) create(ctx context.Context, c client.WithWatch, object client.Object) error {
	if review, ok := object.(*authorizationv1.SubjectAccessReview); ok {
		review.Status.Allowed = w.allowed(review.Spec)
		return nil
	}
	if err := c.Create(ctx, object); err != nil {
		return err
	}
	echo := &v1.Echo{}
	if _, ok := object.(*corev1.Pod); ok || !w.ready {
		return nil
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), echo); err != nil {
		return err
	}
	echo.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: echo.Generation}}
	return c.Update(ctx, echo)
}

// echoesLeft fails the test if an Echo is still there.
func (w *world) echoesLeft(t *testing.T) {
	t.Helper()
	left := &v1.EchoList{}
	if err := w.List(t.Context(), left); err != nil || len(left.Items) > 0 {
		t.Errorf("left are %v, %v, want no Echo", left.Items, err)
	}
}

// operatorPod returns a pod of the operator of a bundle, with another name.
func operatorPod(b bundle.Bundle) *corev1.Pod {
	template := b.CSV.Spec.Install.Spec.Deployments[0].Spec.Template.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Namespace, pod.Name = "operators", "echo-operator-1"
	return pod
}
