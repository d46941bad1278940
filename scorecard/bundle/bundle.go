// Package bundle reads the parts of an OLM bundle that the scorecard tests use.
package bundle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Bundle contains the ClusterServiceVersion of a bundle and its CustomResourceDefinitions.
type Bundle struct {
	CSV  CSV
	CRDs []CRD
}

// CSV is a ClusterServiceVersion.
type CSV struct {
	Metadata struct {
		Annotations map[string]string
	}
	Spec struct {
		CustomResourceDefinitions struct{ Owned []Owned }
		Install                   struct {
			Spec struct {
				Deployments                     []Deployment
				Permissions, ClusterPermissions []Permissions
			}
		}
	}
}

// Owned is a kind that the operator owns, and how the console shows it.
type Owned struct {
	Name, Version                      string
	SpecDescriptors, StatusDescriptors []Descriptor
}

// Descriptor describes how the console shows a field.
type Descriptor struct {
	Path, DisplayName, Description string
	XDescriptors                   []string `json:"x-descriptors"`
}

// Deployment is a Deployment of the operator.
type Deployment struct {
	Name string
	Spec appsv1.DeploymentSpec
}

// Permissions are the permissions of a service account.
type Permissions struct {
	ServiceAccountName string
	Rules              []rbacv1.PolicyRule
}

// CRD is a CustomResourceDefinition.
type CRD struct {
	Metadata struct{ Name string }
	Spec     struct {
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema Schema }
		}
	}
}

// Read reads the bundle in a folder.
func Read(folder string) (Bundle, error) {
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.yaml"))
	if err != nil {
		return Bundle{}, err
	}
	bundle, csvs := Bundle{}, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return bundle, err
		}
		isCSV, err := bundle.add(text)
		if err != nil {
			return bundle, fmt.Errorf("%s: %w", file, err)
		}
		if isCSV {
			csvs++
		}
	}
	if csvs != 1 {
		return bundle, fmt.Errorf("there are %d ClusterServiceVersions in %s, want 1", csvs, folder)
	}
	return bundle, nil
}

// add adds a manifest and reports whether it is the ClusterServiceVersion.
func (b *Bundle) add(manifest []byte) (bool, error) {
	var object struct{ Kind string }
	if err := yaml.Unmarshal(manifest, &object); err != nil {
		return false, err
	}
	switch object.Kind {
	case "ClusterServiceVersion":
		return true, yaml.Unmarshal(manifest, &b.CSV)
	case "CustomResourceDefinition":
		b.CRDs = append(b.CRDs, CRD{})
		return false, yaml.Unmarshal(manifest, &b.CRDs[len(b.CRDs)-1])
	default:
		return false, nil
	}
}

// Examples returns the objects that the console offers to create.
func (b Bundle) Examples() ([]unstructured.Unstructured, error) {
	var examples []unstructured.Unstructured
	if err := json.Unmarshal([]byte(b.CSV.Metadata.Annotations["alm-examples"]), &examples); err != nil {
		return nil, fmt.Errorf("reading the annotation alm-examples: %w", err)
	}
	return examples, nil
}

// Schema returns the schema of a kind in the version that the operator owns.
func (b Bundle) Schema(owned Owned) (Schema, bool) {
	for _, crd := range b.CRDs {
		for _, version := range crd.Spec.Versions {
			if crd.Metadata.Name == owned.Name && version.Name == owned.Version {
				return version.Schema.OpenAPIV3Schema, true
			}
		}
	}
	return Schema{}, false
}
