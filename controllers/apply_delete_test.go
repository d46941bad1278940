package controllers

import (
	"context"
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/echo-operator/echo-operator/internal/objects"
)

// service returns the desired Service of an Echo.
func service(t *testing.T) objects.Child {
	t.Helper()
	all, err := objects.Desired(StoredEcho(), objects.Config{Images: objects.Images{EchoServer: "i"}})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return all[0]
}

func TestApply_forcesOnlyExistingObjects(t *testing.T) {
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
			after, err := Apply(t.Context(), writer, service(t), live)
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

func TestApply_namesObjectInError(t *testing.T) {
	w := New(t)
	w.Fail = func(string) error { return errors.New("no") }
	_, err := Apply(t.Context(), w.Server, service(t), nil)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("Service ns/x cannot be applied: no")))
}

func TestDeleteChild(t *testing.T) {
	g := NewWithT(t)
	going := OwnedService(StoredEcho())
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{}, []string{"example.org/theirs"}
	going.DeletionTimestamp.Time = metav1.Now().Time
	w := New(t)
	remove := func(live client.Object) error {
		return DeleteChild(t.Context(), w.Server, live, metav1.DeletePropagationForeground)
	}
	g.Expect(remove(going)).To(Succeed())
	g.Expect(w.Writes).To(BeNil())
	g.Expect(remove(OwnedService(StoredEcho()))).To(Satisfy(apierrors.IsNotFound), "a Service that is gone")
	w.Fail = func(string) error { return errors.New("no") }
	g.Expect(remove(OwnedService(StoredEcho()))).To(MatchError(ContainSubstring("ns/x")), "a failed deletion")
}

func TestDeleteCompanion_ignoresTerminatingOrMissing(t *testing.T) {
	g := NewWithT(t)
	w, companion := New(t), CompanionPod(t)
	g.Expect(DeleteCompanion(t.Context(), w.Server, companion)).To(Succeed(), "gone")
	w.Writes, companion.DeletionTimestamp = nil, &metav1.Time{Time: w.Dependencies.Now()}
	g.Expect(DeleteCompanion(t.Context(), w.Server, companion)).To(Succeed())
	g.Expect(w.Writes).To(BeNil())
}
