package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// installDefinitions creates the definitions that files contain.
func installDefinitions(config *rest.Config, files []string) {
	GinkgoHelper()
	_, err := envtest.InstallCRDs(config, definitionsIn(files))
	Expect(err).NotTo(HaveOccurred())
}

// uninstallDefinitions deletes definitions, and waits until they are gone. Objects that are installed earlier would be deleted with them.
// API servers before 1.35 take a minute longer if an object is applied again while they delete all objects: they check for a minute before
// they delete again.
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
	}).WithContext(ctx).WithTimeout(2 * time.Minute).Should(Succeed())
}

func definitionsIn(files []string) envtest.CRDInstallOptions {
	return envtest.CRDInstallOptions{Paths: files, Scheme: runtime.NewScheme()}
}
