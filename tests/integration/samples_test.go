package integration

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = Describe("the Echo of each sample", func() {
	files, err := filepath.Glob("../../config/samples/v1_*.yaml")
	if err != nil || len(files) == 0 {
		panic("no samples")
	}
	for _, file := range files {
		It("is stored as written, because Argo CD compares the two:  "+filepath.Base(file), func(ctx SpecContext) {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			for document := range strings.SplitSeq(string(text), "\n---\n") {
				body, err := yaml.YAMLToJSON([]byte(document))
				Expect(err).NotTo(HaveOccurred())
				sent := &unstructured.Unstructured{}
				Expect(sent.UnmarshalJSON(body)).To(Succeed())
				if sent.GetKind() == "Echo" {
					expectStoredAsSent(ctx, sent)
				}
			}
		})
	}

	It("is stored as written, with every field", func(ctx SpecContext) {
		echo := support.Echo("", "every", support.EveryField)
		echo.Spec.Checks[0].DeadlineSeconds = 0 // any default that the API server sets here is fine
		echo.UID, echo.APIVersion, echo.Kind = "", v1.GroupVersion.String(), "Echo"
		sent, err := runtime.DefaultUnstructuredConverter.ToUnstructured(echo)
		Expect(err).NotTo(HaveOccurred())
		expectStoredAsSent(ctx, &unstructured.Unstructured{Object: sent})
	})
})

// expectStoredAsSent expects that the API server would store an Echo's spec unchanged.
func expectStoredAsSent(ctx context.Context, sent *unstructured.Unstructured) {
	GinkgoHelper()
	sent.SetNamespace(newNamespace(ctx)) // another spec may apply the same sample in the default namespace
	stored := sent.DeepCopy()
	Expect(k8s.Create(ctx, stored, client.DryRunAll)).To(Succeed())
	Expect(changes("spec", sent.Object["spec"], stored.Object["spec"])).To(BeEmpty())
}

// changes returns the paths at which the stored value differs from the sent value. Like Argo CD, it ignores fields that the API server adds
// to a map, but compares list items as a whole.
func changes(path string, sent, stored any) []string {
	fields, isMap := sent.(map[string]any)
	others, wasMap := stored.(map[string]any)
	if !isMap || !wasMap {
		if reflect.DeepEqual(sent, stored) {
			return nil
		}
		return []string{path}
	}
	var all []string
	for name, value := range fields {
		all = append(all, changes(path+"."+name, value, others[name])...)
	}
	return all
}
