package apiserver

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

// step is an action that a user takes in a namespace.
type step func(ctx context.Context, c client.Client, namespace string) error

// scenario is a sequence of actions. The operator comes to rest after each step.
type scenario struct {
	name  string
	steps []step
}

func scenarios() []scenario {
	return []scenario{
		{"create", []step{create}},
		{"scale", []step{create, change(`{"spec": {"replicas": 3}}`)}},
		{"change", []step{create, change(`{"spec": {"port": 9000, "service": {"port": 90}}}`)}},
		{"change of ports and metadata", []step{create, change(`{"spec": {"service": {"portName": "web", "appProtocol": "kubernetes.io/h2c"}, ` +
			`"commonMetadata": {"labels": {"team": "a"}, "annotations": {"example.org/owner": "b"}}, "ingress": {"host": null}}}`)}},
		{"prune",
			[]step{create,
				change(`{"spec": {"disruptionBudget": {"enabled": false}, "ingress": {"enabled": false}, "networkPolicy": {"enabled": false}}}`)}},
		{"pause", []step{create, change(`{"spec": {"paused": true, "replicas": 3}}`), change(`{"spec": {"paused": false}}`)}},
		{"refuse", []step{create, change(`{"spec": {"replicas": 21}}`), change(`{"spec": {"replicas": 1}}`)}},
		{"name taken", []step{takeName, create}},
		{"name taken and freed", []step{takeName, create, freeName}},
		{"edit children", []step{create, editChildren}},
		{"lose children", []step{create, loseChildren}},
		{"delete", []step{create, remove}},
		{"delete and create", []step{create, remove, create}},
	}
}

// create creates an Echo with one child of each kind.
func create(ctx context.Context, c client.Client, namespace string) error {
	return c.Create(ctx, support.Echo(namespace, echoName, func(e *v1.Echo) {
		e.Spec.Ingress = &v1.EchoIngress{Enabled: true, Host: "echo.example.com"}
		e.Spec.NetworkPolicy = &v1.EchoNetworkPolicy{Enabled: true}
	}))
}

// change returns a step that changes the Echo.
func change(text string) step {
	return func(ctx context.Context, c client.Client, namespace string) error {
		return c.Patch(ctx, newEcho(namespace, nil), client.RawPatch(types.MergePatchType, []byte(text)))
	}
}

func remove(ctx context.Context, c client.Client, namespace string) error {
	return c.Delete(ctx, newEcho(namespace, nil))
}

func foreignService(namespace string) *corev1.Service {
	return &corev1.Service{Namespace: namespace, Name: echoName,
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "theirs", Port: 5}}}}
}

func takeName(ctx context.Context, c client.Client, namespace string) error {
	return c.Create(ctx, foreignService(namespace))
}

// freeName deletes the other client's Service, and changes the Echo so that the operator checks the name immediately.
func freeName(ctx context.Context, c client.Client, namespace string) error {
	if err := c.Delete(ctx, foreignService(namespace)); err != nil {
		return err
	}
	return change(`{"metadata": {"annotations": {"example.org/looked-at": "again"}}}`)(ctx, c, namespace)
}

// editChildren edits a label that the operator sets.
func editChildren(ctx context.Context, c client.Client, namespace string) error {
	edit := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"labels": {"app.kubernetes.io/component": "other"}}}`))
	for _, child := range objects.Kinds(nil) {
		child.SetNamespace(namespace)
		child.SetName(echoName)
		if err := c.Patch(ctx, child, edit); err != nil {
			return err
		}
	}
	return nil
}

func loseChildren(ctx context.Context, c client.Client, namespace string) error {
	for _, child := range objects.Kinds(nil) {
		child.SetNamespace(namespace)
		child.SetName(echoName)
		if err := c.Delete(ctx, child, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			return err
		}
	}
	return nil
}

// run carries out a scenario in a new namespace, and returns the final state.
func (c scenario) run(ctx context.Context, s *server, tamperers ...*tamperer) (_ map[string]any, err error) {
	namespace, err := s.newNamespace(ctx, "tampered")
	if err != nil {
		return nil, err
	}
	w := &wire{watched: throughAll(tamperers)} //nolint:bodyclose // it sends no request
	p, err := s.startOperator(w, namespace)
	if err != nil {
		return nil, err
	}
	defer func() {
		p.end()
		err = errors.Join(err, s.freeAddresses(namespace))
	}()
	running := func() (*process, error) {
		for _, t := range tamperers {
			if t.needsHealing() && w.isQuiet(namespace) {
				t.heal()
			}
		}
		return p, nil
	}
	now, err := s.settle(ctx, namespace, running) // wait, so that the operator's first list is empty
	for _, act := range c.steps {
		if err != nil {
			return nil, err
		}
		if err := act(ctx, s.client, namespace); err != nil {
			return nil, err
		}
		now, err = s.settle(ctx, namespace, running)
	}
	if err != nil {
		return nil, err
	}
	return now.plain()
}

// podsOf does the ReplicaSet controller's work: it creates and deletes a Deployment's pod. If there was work to do, it returns an unrest
// error.
func (s *server) podsOf(ctx context.Context, now *state) error {
	d := now.children["Deployment"]
	switch {
	case d == nil || d.GetDeletionTimestamp() != nil:
		for _, pod := range now.pods {
			if err := s.client.Delete(ctx, pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
		if len(now.pods) > 0 {
			return unrest{"a pod is deleted"}
		}
	case len(now.pods) == 0:
		labels, _, err := unstructured.NestedStringMap(d.Object, "spec", "template", "metadata", "labels")
		if err != nil {
			return err
		}
		pod := &corev1.Pod{
			Namespace: d.GetNamespace(), Name: echoName + "-pod", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "echo", Image: "echo"}}},
		}
		if err := s.client.Create(ctx, pod); err != nil {
			return err
		}
		return unrest{"a pod is created"}
	}
	return nil
}

// isQuiet reports whether the operator sends no requests for some time.
func (w *wire) isQuiet(namespace string) bool {
	before := w.requests(namespace)
	err := wait.PollUntilContextTimeout(context.Background(), interval, held, true, func(context.Context) (bool, error) {
		return w.requests(namespace) != before, nil
	})
	return wait.Interrupted(err)
}
