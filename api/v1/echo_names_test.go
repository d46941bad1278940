package v1

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestEcho_reservesValidNames checks that the names are valid and have the prefix that the schema reserves for the operator.
func TestEcho_reservesValidNames(t *testing.T) {
	g := NewWithT(t)
	for name, value := range map[string]string{
		"the finalizer":       Finalizer,
		"the digest":          AppliedHashAnnotation,
		"the companion label": CompanionLabel,
	} {
		g.Expect(validation.IsQualifiedName(value)).To(BeNil(), name)
		g.Expect(value).To(HavePrefix("echoes."+GroupVersion.Group+"/"), name)
	}
}
