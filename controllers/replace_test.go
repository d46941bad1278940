package controllers

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestOnlyWhatWouldBeAcceptedIsReplaced: a Service that works is worth more than none.
func TestOnlyWhatWouldBeAcceptedIsReplaced(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	deleted := []string{"delete x"}
	for name, c := range map[string]struct {
		answer error
		writes []string
	}{
		"accepted":           {nil, deleted},
		"invalid":            {apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", nil), nil},
		"forbidden":          {apierrors.NewForbidden(services, "x", errors.New("no")), nil},
		"a quota of one":     {apierrors.NewForbidden(services, "x", errors.New("exceeded quota: q")), deleted},
		"the name is taken":  {apierrors.NewAlreadyExists(services, "x"), deleted},
		"no answer":          {errors.New("no"), deleted},
		"cannot be asked so": {apierrors.NewBadRequest("the webhook does not support dry run"), deleted},
	} {
		t.Run(name, func(t *testing.T) {
			w, live := newWorld(t, ownedService(storedEcho())), ownedService(storedEcho())
			if err := w.server.Get(t.Context(), client.ObjectKeyFromObject(live), live); err != nil {
				t.Fatal(err)
			}
			r := w.echoes()
			var asked []string
			r.Client = interceptor.NewClient(w.server, interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, given ...client.CreateOption) error {
					options := client.CreateOptions{}
					options.ApplyOptions(given)
					asked = slices.Concat(options.DryRun, []string{object.GetNamespace() + "/" + object.GetName()})
					return c.answer
				}})
			if err := r.replace(t.Context(), firstChild(t), live); (err == nil) != (c.writes != nil) || c.writes == nil && !errors.Is(err, c.answer) {
				t.Errorf("got %v", err)
			}
			if !slices.Equal(w.writes, c.writes) || !slices.Equal(asked, []string{metav1.DryRunAll, "ns/x-trial"}) {
				t.Errorf("it asked for %v and wrote %v", asked, w.writes)
			}
		})
	}
}

func TestWhatIsBeingDeletedIsAwaited(t *testing.T) {
	w, live := newWorld(t), ownedService(storedEcho())
	live.Finalizers, live.DeletionTimestamp = []string{"example.org/theirs"}, &metav1.Time{Time: w.dependencies.Now()}
	if err := w.echoes().replace(t.Context(), firstChild(t), live); err != nil || w.writes != nil {
		t.Errorf("it wrote %v: %v", w.writes, err)
	}
}
