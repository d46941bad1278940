// Package bundle reads the parts of an OLM bundle that the scorecard tests use.
package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Bundle contains the ClusterServiceVersion and the CustomResourceDefinition of a bundle.
type Bundle struct {
	CSV CSV
	CRD CRD
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
				Deployments                     []struct{ Spec appsv1.DeploymentSpec }
				Permissions, ClusterPermissions []struct {
					ServiceAccountName string
					Rules              []rbacv1.PolicyRule
				}
			}
		}
	}
}

// Owned describes a kind that the operator owns, and how the console shows it.
type Owned struct {
	Name, Version                      string
	SpecDescriptors, StatusDescriptors []Descriptor
}

// Descriptor describes how the console shows a field.
type Descriptor struct {
	Path, DisplayName, Description string
	XDescriptors                   []string `json:"x-descriptors"`
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

// Read reads the bundle in a directory.
func Read(folder string) (Bundle, error) {
	b := Bundle{}
	err := errors.Join(read(folder, "echo-operator.clusterserviceversion.yaml", &b.CSV), read(folder, "example.com_echoes.yaml", &b.CRD))
	return b, err
}

func read(folder, file string, object any) error {
	text, err := os.ReadFile(filepath.Join(folder, "manifests", file))
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, object); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Examples returns the objects that the console offers to create.
func (b Bundle) Examples() ([]unstructured.Unstructured, error) {
	var examples []unstructured.Unstructured
	if err := json.Unmarshal([]byte(b.CSV.Metadata.Annotations["alm-examples"]), &examples); err != nil {
		return nil, fmt.Errorf("reading the annotation alm-examples: %w", err)
	}
	return examples, nil
}

// Schema returns the schema of a kind in the version that the operator owns, or false if the bundle does not contain this version.
func (b Bundle) Schema(owned Owned) (Schema, bool) {
	for _, version := range b.CRD.Spec.Versions {
		if b.CRD.Metadata.Name == owned.Name && version.Name == owned.Version {
			return version.Schema.OpenAPIV3Schema, true
		}
	}
	return Schema{}, false
}

// Schema is the OpenAPI schema of a field.
type Schema struct {
	Type       string
	Enum       []any
	Properties map[string]Schema
	Items      *Schema
}

// At returns the schema of the field at a path such as imagePullSecrets[0].name, or false if there is no such field.
func (s Schema) At(path string) (Schema, bool) {
	for name := range strings.SplitSeq(path, ".") {
		name, isItem := strings.CutSuffix(name, "[0]")
		next, ok := s.Properties[name]
		if !ok {
			return s, false
		}
		if s = next; !isItem {
			continue
		}
		if s.Items == nil {
			return s, false
		}
		s = *s.Items
	}
	return s, true
}

// Permission is one verb on one resource; a subresource is written as resource/subresource. Name is the name of the only object to which
// the permission applies, or empty for all objects.
type Permission struct{ Group, Resource, Verb, Name string }

// String returns the verb, resource, group, and name, for example "patch deployments.apps" or "get leases.coordination.k8s.io/x".
func (p Permission) String() string {
	text := strings.TrimSuffix(p.Verb+" "+p.Resource+"."+p.Group, ".")
	if p.Name != "" {
		text += "/" + p.Name
	}
	return text
}

// Listed returns the permissions that RBAC rules grant on resources.
func Listed(rules []rbacv1.PolicyRule) []Permission {
	var all []Permission
	for _, rule := range rules {
		if len(rule.ResourceNames) == 0 {
			rule.ResourceNames = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range rule.ResourceNames {
						all = append(all, Permission{group, resource, verb, name})
					}
				}
			}
		}
	}
	return all
}
