package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/echo-operator/echo-operator/internal/apply"
	"github.com/echo-operator/echo-operator/internal/objects"
)

// comparing returns a writer that finds the given difference between every child and its live object.
func comparing(w *World, difference apply.Difference) *childWriter {
	return &childWriter{client: w.Server, compare: func(objects.Child, client.Object) (apply.Difference, error) { return difference, nil }}
}

func TestChildWriter_writesNothingIfSameOrUnwanted(t *testing.T) {
	g, w := NewWithT(t), New(t)
	unwanted, writer := service(t), comparing(w, apply.Difference{None: true})
	unwanted.Desired = nil
	g.Expect(writer.ensure(t.Context(), service(t), OwnedService(StoredEcho()))).NotTo(BeNil())
	g.Expect(writer.ensure(t.Context(), unwanted, nil)).To(BeNil())
	g.Expect(w.Writes).To(BeNil())
}

// TestChildWriter_replacesOnlyIfAccepted checks that a working Service is not deleted if the API server would reject its replacement. A
// dry run creates the replacement, because a webhook may reject only creations.
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
		"it exists":         {apierrors.NewAlreadyExists(services, "x"), deleted},
		"no response":       {errors.New("no"), deleted},
		"a webhook is down": {apierrors.NewInternalError(errors.New("failed calling webhook")), nil},
		"no dry run":        {apierrors.NewBadRequest("the webhook does not support dry run"), deleted},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w, live := New(t, OwnedService(StoredEcho())), OwnedService(StoredEcho())
			g.Expect(w.Server.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
			writer := comparing(w, apply.Difference{Replace: true})
			var asked []string
			writer.client = interceptor.NewClient(w.Server, interceptor.Funcs{
				Create: func(_ context.Context, _ client.WithWatch, object client.Object, given ...client.CreateOption) error {
					options := client.CreateOptions{}
					options.ApplyOptions(given)
					asked = slices.Concat(options.DryRun, []string{object.GetNamespace() + "/" + object.GetName()})
					return c.answer
				}})
			child := service(t)
			child.MergeLive = func(desired *unstructured.Unstructured, _ client.Object) *unstructured.Unstructured {
				merged := desired.DeepCopy()
				merged.SetName("merged")
				return merged
			}
			if _, err := writer.ensure(t.Context(), child, live); (err == nil) != (c.writes != nil) ||
				c.writes == nil && !errors.Is(err, c.answer) {
				t.Errorf("got %v", err)
			}
			g.Expect(w.Writes).To(HaveExactElements(c.writes))
			g.Expect(asked).To(HaveExactElements(metav1.DryRunAll, "ns/x"))
		})
	}
}

func TestChildWriter_waitsForDeletion(t *testing.T) {
	g := NewWithT(t)
	w, live := New(t), OwnedService(StoredEcho())
	live.Finalizers, live.DeletionTimestamp = []string{"example.org/theirs"}, &metav1.Time{Time: w.Dependencies.Now()}
	writer := comparing(w, apply.Difference{Replace: true})
	g.Expect(writer.ensure(t.Context(), service(t), live)).Error().NotTo(HaveOccurred())
	g.Expect(w.Writes).To(BeNil())
}

// service returns the desired Service of an Echo.
func service(t *testing.T) objects.Child {
	t.Helper()
	all, err := objects.Desired(StoredEcho(), objects.Config{Images: objects.Images{EchoServer: "i"}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return all[slices.IndexFunc(all, func(c objects.Child) bool { return c.Kind == "Service" })]
}

func TestApplyChild_forcesOnlyExistingObjects(t *testing.T) {
	for name, live := range map[string]client.Object{"created": nil, "corrected": OwnedService(StoredEcho())} {
		t.Run(name, func(t *testing.T) {
			var options client.PatchOptions
			sent := &unstructured.Unstructured{}
			writer := interceptor.NewClient(New(t).Server, interceptor.Funcs{
				Patch: func(_ context.Context, _ client.WithWatch, object client.Object, patch client.Patch, given ...client.PatchOption) error {
					options.ApplyOptions(given)
					body, err := patch.Data(object)
					if err != nil || patch.Type() != types.ApplyPatchType {
						return fmt.Errorf("%s: %w", patch.Type(), err)
					}
					return sent.UnmarshalJSON(body)
				}})
			after, err := applyChild(t.Context(), writer, service(t), live)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			if _, ok := after.(*corev1.Service); !ok || options.FieldManager != "echo-operator" {
				t.Errorf("%T was applied by %q", after, options.FieldManager)
			}
			forced := options.Force != nil && *options.Force
			if forced != (live != nil) || (sent.GetUID() == "service-uid") != (live != nil) || (sent.GetResourceVersion() == "1") != (live == nil) {
				t.Errorf("forced is %t, the UID is %q, the resource version %q", forced, sent.GetUID(), sent.GetResourceVersion())
			}
		})
	}
}

func TestDeleteChild(t *testing.T) {
	g := NewWithT(t)
	going := OwnedService(StoredEcho())
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{}, []string{"example.org/theirs"}
	going.DeletionTimestamp.Time = metav1.Now().Time
	w := New(t)
	remove := func(live client.Object) error {
		return deleteChild(t.Context(), w.Server, live, metav1.DeletePropagationForeground)
	}
	g.Expect(remove(going)).To(Succeed())
	g.Expect(w.Writes).To(BeNil())
	g.Expect(remove(OwnedService(StoredEcho()))).To(Satisfy(apierrors.IsNotFound), "a Service that is gone")
	w.Fail = func(string) error { return errors.New("no") }
	g.Expect(remove(OwnedService(StoredEcho()))).To(MatchError(ContainSubstring("ns/x")), "a failed deletion")
}

func TestDeleteCompanion_ignoresTerminatingOrMissing(t *testing.T) {
	g := NewWithT(t)
	w, companion := New(t), objects.PodOf(CompanionPod(t))
	g.Expect(deleteCompanion(t.Context(), w.Server, companion)).To(Succeed(), "gone")
	w.Writes, companion.Deleted = nil, true
	g.Expect(deleteCompanion(t.Context(), w.Server, companion)).To(Succeed())
	g.Expect(w.Writes).To(BeNil())
}
