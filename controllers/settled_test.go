package controllers

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children"
)

// settledEcho returns a reconciler for which a pass over the stored Echo found nothing to do, and how long that lasts, zero for ever.
func settledEcho(t *testing.T, w *world, echo *v1.Echo, next time.Duration) *EchoReconciler {
	t.Helper()
	r := w.echoes()
	if _, same, err := r.isSettled(t.Context(), client.ObjectKeyFromObject(echo)); err != nil || same {
		t.Fatalf("there was no pass: %t, %v", same, err)
	}
	r.settled.found(echo, next, r.Now())
	return r
}

// podOnNode returns a pod of the stored Echo.
func podOnNode() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x-1", UID: "pod", Labels: children.InstanceLabels(storedEcho())},
		Spec:       corev1.PodSpec{NodeName: aNode().Name},
	}
}

func TestEachChangeEndsThatAnEchoIsSettled(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "service"}}
	update := func(object client.Object) func(context.Context, client.Client) error {
		return func(ctx context.Context, c client.Client) error {
			if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			object.SetAnnotations(map[string]string{"edited": "yes"})
			return c.Update(ctx, object)
		}
	}
	for name, change := range map[string]func(context.Context, client.Client) error{
		"nothing":      nil,
		"the Echo":     update(storedEcho()),
		"a child":      update(service.DeepCopy()),
		"a pod":        update(podOnNode()),
		"a node":       update(aNode()),
		"a child went": func(ctx context.Context, c client.Client) error { return c.Delete(ctx, service.DeepCopy()) },
		"a pod went":   func(ctx context.Context, c client.Client) error { return c.Delete(ctx, podOnNode()) },
		"a node went":  func(ctx context.Context, c client.Client) error { return c.Delete(ctx, aNode()) },
		"a new pod": func(ctx context.Context, c client.Client) error {
			pod := podOnNode()
			pod.Name, pod.UID = "x-2", "other"
			return c.Create(ctx, pod)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storedEcho(), service.DeepCopy(), podOnNode(), aNode())
			r := settledEcho(t, w, storedEcho(), 0)
			if change != nil {
				if err := change(t.Context(), w.cache); err != nil {
					t.Fatal(err)
				}
			}
			_, same, err := r.isSettled(t.Context(), client.ObjectKeyFromObject(storedEcho()))
			if err != nil || same != (change == nil) {
				t.Errorf("settled: %t, %v", same, err)
			}
			if _, same, _ = r.isSettled(t.Context(), client.ObjectKeyFromObject(storedEcho())); same != (change == nil) {
				t.Error("it is settled before a pass found nothing to do")
			}
		})
	}
}

func TestAnEchoIsSettledUntilItIsTimeToLookAgain(t *testing.T) {
	key := client.ObjectKeyFromObject(storedEcho())
	r := settledEcho(t, newWorld(t, storedEcho()), storedEcho(), time.Minute)
	began := r.Now()
	for after, wanted := range map[time.Duration]time.Duration{0: time.Minute, 59 * time.Second: time.Second, time.Minute: 0, time.Hour: 0} {
		last, found := r.settled.last(key, began.Add(after))
		if found != (wanted > 0) || found && last.until.Sub(began.Add(after)) != wanted {
			t.Errorf("after %s: %t until %s", after, found, last.until)
		}
	}
	r.Now = func() time.Time { return began.Add(59 * time.Second) }
	if next, same, err := r.isSettled(t.Context(), key); err != nil || !same || next != time.Second {
		t.Errorf("it looks again after %s: %t, %v", next, same, err)
	}
	r.settled.forget(key)
	if len(r.settled.of) > 0 {
		t.Error("an Echo that is gone is held")
	}
}

// TestNoEchoIsSettledWhenTheOfferOfGatewayAPIChanges checks that a route is found that was made before the operator could see routes.
func TestNoEchoIsSettledWhenTheOfferOfGatewayAPIChanges(t *testing.T) {
	echo := storedEcho()
	r := settledEcho(t, newWorld(t, echo), echo, 0)
	if requests := r.echoesAfterGatewayChange(t.Context()); len(requests) != 1 {
		t.Errorf("the passes are %v", requests)
	}
	if _, same, err := r.isSettled(t.Context(), client.ObjectKeyFromObject(echo)); same || err != nil {
		t.Errorf("it is settled: %t, %v", same, err)
	}
}

func TestAnEchoWithTLSIsNeverSettled(t *testing.T) {
	echo := storedEcho(func(e *v1.Echo) { e.Spec.TLS = &v1.EchoTLS{SecretName: "s"} })
	r := settledEcho(t, newWorld(t, echo), echo, 0)
	if _, same, err := r.isSettled(t.Context(), client.ObjectKeyFromObject(echo)); err != nil || same {
		t.Errorf("settled: %t, %v", same, err)
	}
}

func TestInputsDoNotDependOnTheOrderOfTheCache(t *testing.T) {
	other := podOnNode()
	other.Name, other.UID = "x-2", "other"
	r := newWorld(t, storedEcho(), podOnNode(), other, aNode()).echoes()
	first, err := r.inputs(t.Context(), types.NamespacedName{Namespace: "ns", Name: "x"})
	if err != nil || len(first) != 2*5 {
		t.Fatalf("the Echo, two pods and their nodes are %v: %v", first, err)
	}
	r.Client = reversed{r.Client}
	if second, err := r.inputs(t.Context(), types.NamespacedName{Namespace: "ns", Name: "x"}); err != nil || !slices.Equal(first, second) {
		t.Errorf("%v, not %v: %v", second, first, err)
	}
}

// reversed lists pods in the reverse order.
type reversed struct{ client.Client }

func (r reversed) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := r.Client.List(ctx, list, options...)
	slices.Reverse(list.(*corev1.PodList).Items)
	return err
}
