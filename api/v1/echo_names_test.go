package v1

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// TestNamesAreValidAndReserved checks that the API server accepts the names, and that users cannot set them: the schema rejects
// labels and annotations with the prefix.
func TestNamesAreValidAndReserved(t *testing.T) {
	for name, value := range map[string]string{
		"the finalizer":       Finalizer,
		"the digest":          AppliedHashAnnotation,
		"the companion label": CompanionLabel,
	} {
		if problems := validation.IsQualifiedName(value); problems != nil {
			t.Errorf("%s: %v", name, problems)
		}
		if !strings.HasPrefix(value, "echoes."+GroupVersion.Group+"/") {
			t.Errorf("%s: %s does not have the reserved prefix", name, value)
		}
	}
}
