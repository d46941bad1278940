package integration

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/echo-operator/echo-operator/tests/support"
)

var _ = It("no rule of the schema rejects an Echo that uses a field of a later version", func(ctx SpecContext) {
	var growth []struct {
		Field        string
		Schema, Spec map[string]any
	}
	Expect(yaml.Unmarshal([]byte(support.Read("tests/packaging/testdata/growth.yaml")), &growth)).To(Succeed())
	crd := &unstructured.Unstructured{}
	Expect(yaml.Unmarshal([]byte(support.Read("config/crd/bases/example.com_echoes.yaml")), &crd.Object)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	for _, grown := range growth {
		parent, name := grown.Field[:strings.LastIndex(grown.Field, ".")], grown.Field[strings.LastIndex(grown.Field, ".")+1:]
		path := []string{"schema", "openAPIV3Schema"}
		for part := range strings.SplitSeq(parent, ".") {
			field, isList := strings.CutSuffix(part, "[]")
			path = append(path, "properties", field)
			if isList {
				path = append(path, "items")
			}
		}
		Expect(unstructured.SetNestedMap(versions[0].(map[string]any), grown.Schema, append(path, "properties", name)...)).To(Succeed())
	}
	Expect(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")).To(Succeed())
	later, err := yaml.Marshal(crd.Object)
	Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(GinkgoT().TempDir(), "later.yaml")
	Expect(os.WriteFile(file, later, 0o600)).To(Succeed())

	admin := newClient(startAPIServer(file).Config)
	for _, grown := range growth {
		echo := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Echo", "spec": grown.Spec}}
		echo.SetNamespace("default")
		echo.SetGenerateName("grown-")
		Expect(admin.Create(ctx, echo, client.FieldValidation("Strict"))).To(Succeed(), grown.Field)
	}
}, SpecTimeout(specTimeout))
