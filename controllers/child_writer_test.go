package controllers_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/echo-operator/echo-operator/controllers"
	"github.com/echo-operator/echo-operator/internal/children"
	"github.com/echo-operator/echo-operator/internal/children/apply"
	"github.com/echo-operator/echo-operator/tests/support/fakecluster"
)

// replacing returns a writer whose Compare function requests the replacement of every child.
func replacing(w *fakecluster.World) *controllers.ChildWriter {
	return &controllers.ChildWriter{Client: w.Server, Compare: func(children.Child, client.Object) (apply.Difference, error) {
		return apply.Difference{Replace: true}, nil
	}}
}

// TestChildWriter_replacesOnlyIfAccepted checks that a working Service is not deleted if the API server would reject its replacement.
func TestChildWriter_replacesOnlyIfAccepted(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	deleted := []string{"delete x"}
	denied := apierrors.NewBadRequest(`admission webhook "w" denied the request: no`)
	for name, c := range map[string]struct {
		answer error
		writes []string
	}{
		"accepted":          {nil, deleted},
		"invalid":           {apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "x", nil), nil},
		"forbidden":         {apierrors.NewForbidden(services, "x", errors.New("no")), nil},
		"denied by webhook": {denied, nil},
		"a quota of one":    {apierrors.NewForbidden(services, "x", errors.New("exceeded quota: q")), deleted},
		"the name is taken": {apierrors.NewAlreadyExists(services, "x"), deleted},
		"no response":       {errors.New("no"), deleted},
		"no dry run":        {apierrors.NewBadRequest("the webhook does not support dry run"), deleted},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, live := fakecluster.New(t, fakecluster.OwnedService(fakecluster.StoredEcho())), fakecluster.OwnedService(fakecluster.StoredEcho())
			g.Expect(w.Server.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
			writer := replacing(w)
			var asked []string
			writer.Client = interceptor.NewClient(w.Server, interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, given ...client.CreateOption) error {
					options := client.CreateOptions{}
					options.ApplyOptions(given)
					asked = slices.Concat(options.DryRun, []string{object.GetNamespace() + "/" + object.GetName()})
					return c.answer
				}})
			if _, err := writer.Ensure(t.Context(), service(t), live); (err == nil) != (c.writes != nil) ||
				c.writes == nil && !errors.Is(err, c.answer) {
				t.Errorf("got %v", err)
			}
			g.Expect(w.Writes).To(HaveExactElements(c.writes))
			g.Expect(asked).To(HaveExactElements(metav1.DryRunAll, "ns/x-trial"))
		})
	}
}

func TestChildWriter_waitsForDeletion(t *testing.T) {
	g := NewWithT(t)
	w, live := fakecluster.New(t), fakecluster.OwnedService(fakecluster.StoredEcho())
	live.Finalizers, live.DeletionTimestamp = []string{"example.org/theirs"}, &metav1.Time{Time: w.Dependencies.Now()}
	writer := replacing(w)
	g.Expect(writer.Ensure(t.Context(), service(t), live)).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(BeNil())
}
