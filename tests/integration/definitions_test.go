package integration

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// installDefinitions creates the CustomResourceDefinitions in the given files.
func installDefinitions(config *rest.Config, files []string) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(config, definitionsIn(files))
	Expect(err).NotTo(HaveOccurred())
}

// uninstallDefinitions deletes CustomResourceDefinitions, and waits until they are gone, because the API server also deletes objects that
// are created in the meantime. If a client applies an object during the deletion, API servers before version 1.35 take one minute longer.
func uninstallDefinitions(ctx context.Context, config *rest.Config, admin client.Client, files []string) {
	GinkgoHelper()
	Expect(envtest.UninstallCRDs(config, definitionsIn(files))).To(Succeed())
	definitions := &metav1.PartialObjectMetadataList{}
	definitions.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	Eventually(func(g Gomega) {
		g.Expect(admin.List(ctx, definitions)).To(Succeed())
		for _, definition := range definitions.Items {
			g.Expect(definition.DeletionTimestamp).To(BeNil(), definition.Name)
		}
	}).WithContext(ctx).Should(Succeed())
}

func definitionsIn(files []string) envtest.CRDInstallOptions {
	return envtest.CRDInstallOptions{Paths: files, Scheme: runtime.NewScheme()}
}
