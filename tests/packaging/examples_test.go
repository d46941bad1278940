package packaging

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEveryExampleHasAStatus: scorecard suggests one for each, with fields of the CRD.
func TestEveryExampleHasAStatus(t *testing.T) {
	var examples []struct {
		Metadata struct{ Name string }
		Spec     struct{ Replicas float64 }
		Status   map[string]any
	}
	if err := yaml.Unmarshal([]byte(bundleCSV(t).Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	fields := currentCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties
	for _, example := range examples {
		if example.Status["phase"] != "Ready" || example.Status["readyReplicas"] != example.Spec.Replicas {
			t.Errorf("%s has the status %v, which is not that of %v replicas", example.Metadata.Name, example.Status, example.Spec.Replicas)
		}
		for field := range example.Status {
			if _, ok := fields[field]; !ok {
				t.Errorf("%s has a status with %s, and the CRD has no such field", example.Metadata.Name, field)
			}
		}
	}
}
