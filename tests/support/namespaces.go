package support

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

const (
	// TestLabel is the label of test namespaces.
	TestLabel = "echo-operator-test"
	// StuckTimeout is longer than the deletion of an Echo can take, even on a busy machine.
	StuckTimeout = 4 * time.Minute
)

// Namespaces creates and deletes the namespaces for a suite's specs. The cluster must be able to complete their deletion.
type Namespaces struct {
	Client client.Client
	// Prefix is the beginning of each namespace's name.
	Prefix string
	// Stuck contains the Echoes whose deletion did not complete in time.
	Stuck []string
}

// New creates a namespace with the Pod Security level "restricted" for one spec, and returns the name of the namespace. After the spec, New
// deletes the namespace without delaying the next specs.
func (n *Namespaces) New(ctx context.Context) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{
		GenerateName: n.Prefix, Labels: map[string]string{TestLabel: "true", "pod-security.kubernetes.io/enforce": "restricted"}}
	Expect(n.Client.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(client.IgnoreNotFound(n.Client.Delete(ctx, namespace))).To(Succeed()) },
		NodeTimeout(2*time.Minute))
	return namespace.Name
}

// RemoveAllBut deletes the namespaces of earlier specs and earlier runs, except the given ones, and waits until this is complete.
func (n *Namespaces) RemoveAllBut(ctx context.Context, kept ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		list := &corev1.NamespaceList{}
		g.Expect(n.Client.List(ctx, list, client.HasLabels{TestLabel})).To(Succeed())
		names := []string{}
		for _, namespace := range list.Items {
			if !slices.Contains(kept, namespace.Name) {
				names = append(names, namespace.Name)
				g.Expect(client.IgnoreNotFound(n.Client.Delete(ctx, &namespace))).To(Succeed())
				n.RemoveStuckEchoes(ctx, g, client.InNamespace(namespace.Name))
			}
		}
		g.Expect(names).To(BeEmpty())
	}).WithContext(ctx).WithTimeout(2 * StuckTimeout).Should(Succeed())
}

// RemoveStuckEchoes removes the finalizers of Echoes whose deletion takes too long, so that these Echoes do not affect other specs. It also
// adds these Echoes to Stuck.
func (n *Namespaces) RemoveStuckEchoes(ctx context.Context, g Gomega, which ...client.ListOption) {
	list := &v1.EchoList{}
	g.Expect(n.Client.List(ctx, list, which...)).To(Succeed())
	for _, echo := range list.Items {
		if echo.DeletionTimestamp != nil && time.Since(echo.DeletionTimestamp.Time) > StuckTimeout {
			n.Stuck = append(n.Stuck, client.ObjectKeyFromObject(&echo).String())
			g.Expect(RemoveFinalizers(ctx, n.Client, &echo)).To(Succeed())
		}
	}
}

// Connect returns a client for the cluster. Namespaces also uses this client.
func (n *Namespaces) Connect(requestTimeout time.Duration) client.WithWatch {
	GinkgoHelper()
	log.SetLogger(GinkgoLogr)
	k8s, err := NewClient(requestTimeout)
	Expect(err).NotTo(HaveOccurred())
	n.Client = k8s
	return k8s
}

// RemoveFinalizers removes all finalizers from an object, for example if the operator is no longer running and cannot remove them.
func RemoveFinalizers(ctx context.Context, c client.Client, object client.Object) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))
	return client.IgnoreNotFound(c.Patch(ctx, object, patch))
}
