package packaging

import (
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"sigs.k8s.io/yaml"
)

// descriptor is one of the spec or of the status, which differ by name alone.
type descriptor v1alpha1.SpecDescriptor

// schema is as much of an OpenAPI schema as is looked at here.
type schema struct {
	Type       string
	Properties map[string]schema
	Items      *schema
}

// at is the schema of a path such as imagePullSecrets[0].name.
func (s schema) at(path string) (schema, bool) {
	for name := range strings.SplitSeq(path, ".") {
		name, isItem := strings.CutSuffix(name, "[0]")
		next, ok := s.Properties[name]
		if !ok {
			return s, false
		}
		s = next
		if isItem {
			if s.Items == nil {
				return s, false
			}
			s = *s.Items
		}
	}
	return s, true
}

func echoSchema(t *testing.T) schema {
	t.Helper()
	crd := read[struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema schema }
			}
		}
	}](t, "bundle", "manifests", "example.com_echoes.yaml")
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func TestDescriptors(t *testing.T) {
	all := bundleCSV(t).Spec.CustomResourceDefinitions.Owned
	if len(all) != 1 || all[0].Name != "echoes.example.com" {
		t.Fatalf("the bundle owns %+v", all)
	}
	var spec, status []descriptor
	for _, d := range all[0].SpecDescriptors {
		spec = append(spec, descriptor(d))
	}
	for _, d := range all[0].StatusDescriptors {
		status = append(status, descriptor(d))
	}
	for part, descriptors := range map[string][]descriptor{"spec": spec, "status": status} {
		fields := echoSchema(t).Properties[part]
		var described []string
		for _, d := range descriptors {
			described = append(described, d.Path)
			d.check(t, fields)
		}
		for name := range fields.Properties {
			if !slices.Contains(described, name) {
				t.Errorf("%s.%s has no descriptor", part, name)
			}
		}
	}
}

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
	fields := echoSchema(t).Properties["status"]
	for _, example := range examples {
		if example.Status["phase"] != "Ready" || example.Status["readyReplicas"] != example.Spec.Replicas {
			t.Errorf("%s has the status %v, which is not that of %v replicas", example.Metadata.Name, example.Status, example.Spec.Replicas)
		}
		for field := range example.Status {
			if _, ok := fields.at(field); !ok {
				t.Errorf("%s has a status with %s, and the CRD has no such field", example.Metadata.Name, field)
			}
		}
	}
}

// check holds a descriptor to the schema, and to what the console takes for a field of its type.
func (d descriptor) check(t *testing.T, fields schema) {
	t.Helper()
	field, ok := fields.at(d.Path)
	if !ok {
		t.Errorf("there is no field %s", d.Path)
	}
	if d.DisplayName == "" || d.Description == "" {
		t.Errorf("%s has no name or no description", d.Path)
	}
	for _, x := range d.XDescriptors {
		if want := typeFor(x); want != "" && field.Type != want {
			t.Errorf("%s is of type %s, and %s is for %s", d.Path, field.Type, x, want)
		}
		path, isDependency := strings.CutPrefix(x, consoleUI+"fieldDependency:")
		if !isDependency {
			continue
		}
		if control, ok := fields.at(path[:strings.LastIndex(path, ":")]); !ok || control.Type != "boolean" {
			t.Errorf("%s depends on %s, which is no switch", d.Path, path)
		}
	}
}

// consoleUI is where the console's own descriptors begin.
const consoleUI = "urn:alm:descriptor:com.tectonic.ui:"

// typeFor is the type of field for which the console knows a descriptor; empty for any.
func typeFor(descriptor string) string {
	return map[string]string{
		consoleUI + "podCount":                        "integer",
		consoleUI + "number":                          "integer",
		consoleUI + "text":                            "string",
		consoleUI + "booleanSwitch":                   "boolean",
		consoleUI + "resourceRequirements":            "object",
		consoleUI + "imagePullPolicy":                 "string",
		consoleUI + "podStatuses":                     "object",
		"urn:alm:descriptor:io.kubernetes:Secret":     "string",
		"urn:alm:descriptor:io.kubernetes.conditions": "array",
		"urn:alm:descriptor:io.kubernetes.phase":      "string",
		"urn:alm:descriptor:org.w3:link":              "string",
	}[descriptor]
}
