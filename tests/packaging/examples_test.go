package packaging

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEveryExampleButTheFirstHasAStatus checks the status of the examples. scorecard suggests that each example have a status with fields
// from the CRD. The first example must not have a status, because the OpenShift console offers this example and would post its status.
func TestEveryExampleButTheFirstHasAStatus(t *testing.T) {
	var examples []struct {
		Metadata struct{ Name string }
		Spec     struct{ Replicas float64 }
		Status   map[string]any
	}
	if err := yaml.Unmarshal([]byte(bundleCSV(t).Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	fields := currentCRD(t).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties
	if examples[0].Status != nil {
		t.Errorf("the first example, %s, has the status %v", examples[0].Metadata.Name, examples[0].Status)
	}
	for _, example := range examples[1:] {
		if example.Status["phase"] != "Ready" || example.Status["readyReplicas"] != example.Spec.Replicas {
			t.Errorf("%s has the status %v, which does not match %v replicas", example.Metadata.Name, example.Status, example.Spec.Replicas)
		}
		for field := range example.Status {
			if _, ok := fields[field]; !ok {
				t.Errorf("%s has a status with %s, which is not a field of the CRD", example.Metadata.Name, field)
			}
		}
	}
}
