package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the cache of the operator", func() {
	It("contains the objects that the operator created, and no others", func(ctx SpecContext) {
		echo := createReadyEcho(ctx, support.Echo(newNamespace(ctx), "cached", everyServedField, func(e *v1.Echo) {
			e.Spec.Service = v1.EchoService{} // copies of the Service must not need the same node port
		}))
		createPod(ctx, echo, echo.Name)
		for _, kind := range append(objects.Kinds(nil), &corev1.Pod{}) {
			own := eventuallyCached(ctx, echo.Namespace, echo.Name, kind)
			expectOwnFieldsOnly(ctx, own)

			By("creating an object with another label, and then one with the operator's label")
			whole := kind.DeepCopyObject().(client.Object) // the cache does not contain all fields of pods
			Expect(k8s.Get(ctx, client.ObjectKeyFromObject(own), whole)).To(Succeed())
			foreign, labeled := copyOf(whole, "foreign", "another-client"), copyOf(whole, "labeled", "echo-operator")
			Expect(k8s.Create(ctx, foreign)).To(Succeed())
			Expect(k8s.Create(ctx, labeled)).To(Succeed())
			eventuallyCached(ctx, echo.Namespace, "labeled", kind) // events arrive in order, so foreign would be in the cache by now
			err := underTest.GetClient().Get(ctx, client.ObjectKeyFromObject(foreign), kind)
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%T: %v", kind, err)
		}
	})

	It("contains only the fields of nodes and pods that the operator reads", func(ctx SpecContext) {
		node := &corev1.Node{GenerateName: "node-", Labels: map[string]string{"zone": "a"}}
		Expect(k8s.Create(ctx, node)).To(Succeed())
		Expect(eventuallyCached(ctx, "", node.Name, &corev1.Node{}).GetLabels()).To(BeEmpty())

		namespace := newNamespace(ctx)
		unlabeled := &corev1.Pod{Namespace: namespace, Name: "unlabeled",
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
		Expect(k8s.Create(ctx, unlabeled)).To(Succeed())
		owner := createOwner(ctx, k8s, namespace, "owner", "none")
		pods := underTest.Companions.Labeled
		cached := &corev1.Pod{}
		Eventually(func() error { return pods.Get(ctx, client.ObjectKeyFromObject(owner), cached) }).WithContext(ctx).Should(Succeed())
		Expect(cached.Spec.Containers).To(BeEmpty())
		Expect(apierrors.IsNotFound(pods.Get(ctx, client.ObjectKeyFromObject(unlabeled), cached))).To(BeTrue())
	})
})

// expectOwnFieldsOnly expects that the managed fields of a cached object contain only the operator's entry, even if another client has
// edited the object. A cached pod has no managed fields.
func expectOwnFieldsOnly(ctx context.Context, cached client.Object) {
	GinkgoHelper()
	if _, isPod := cached.(*corev1.Pod); isPod { // the tests, not the operator, create the pods
		Expect(cached.GetManagedFields()).To(BeEmpty())
		return
	}
	edit(ctx, cached.DeepCopyObject().(client.Object), func(o client.Object) { o.SetAnnotations(map[string]string{"theirs": "yes"}) })
	Eventually(func(g Gomega) {
		now := eventuallyCached(ctx, cached.GetNamespace(), cached.GetName(), cached)
		g.Expect(now.GetAnnotations()).To(HaveKey("theirs"))
		g.Expect(now.GetManagedFields()).To(HaveExactElements(HaveField("Manager", "echo-operator")), "of %T", cached)
	}).WithContext(ctx).Should(Succeed())
}

// eventuallyCached waits until an object is in the cache, and returns it.
func eventuallyCached(ctx context.Context, namespace, name string, kind client.Object) client.Object {
	GinkgoHelper()
	cached := kind.DeepCopyObject().(client.Object)
	key := client.ObjectKey{Namespace: namespace, Name: name}
	Eventually(underTest.GetClient().Get).WithContext(ctx).WithArguments(key, cached).Should(Succeed(), "%T", kind)
	return cached
}

// copyOf copies an object. The copy has the given name, no owner, and only the given managed-by label.
func copyOf(object client.Object, name, manager string) client.Object {
	other := object.DeepCopyObject().(client.Object)
	other.SetName(name)
	other.SetResourceVersion("")
	other.SetUID("")
	other.SetOwnerReferences(nil)
	other.SetLabels(map[string]string{"app.kubernetes.io/managed-by": manager})
	if service, ok := other.(*corev1.Service); ok {
		service.Spec.ClusterIP, service.Spec.ClusterIPs = "", nil // the API server assigns new addresses
	}
	return other
}
