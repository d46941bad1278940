// Package scorecard contains the scorecard tests for the operator that the bundle installs.
package scorecard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// Status is the output that scorecard parses. Its name in scorecard's API is TestStatus.
type Status struct {
	Results []Result `json:"results"`
}

// Result is the result of a test.
type Result struct {
	Name   string   `json:"name"`
	State  string   `json:"state"`
	Log    string   `json:"log,omitempty"`
	Errors []string `json:"errors,omitempty"`
}

// Run runs the named test of the operator in the cluster, which the bundle in a directory describes. Tests create Echoes in the given
// namespace.
func Run(ctx context.Context, name, folder, namespace string) Status {
	var problems []string
	c := &cluster{namespace: namespace}
	b, err := ReadBundle(folder)
	if err == nil {
		err = c.connect()
	}
	if err == nil {
		problems, err = c.run(ctx, name, b)
	}
	return statusOf(name, problems, err, c.log.String())
}

func (c *cluster) run(ctx context.Context, name string, b Bundle) ([]string, error) {
	switch name {
	case "examples":
		return c.examples(ctx, b), nil
	case "permissions":
		return c.permissions(ctx, b)
	case "restricted":
		return c.restricted(ctx, b)
	default:
		return nil, fmt.Errorf("there is no test %q: the tests are examples, permissions, and restricted", name)
	}
}

// statusOf returns the result of a test from the problems that the test found, or from the error if the test could not finish.
func statusOf(name string, problems []string, err error, log string) Status {
	r := Result{Name: name, State: "pass", Log: log, Errors: problems}
	if len(problems) > 0 {
		r.State = "fail"
	}
	if err != nil {
		r.State, r.Errors = "error", append(r.Errors, err.Error())
	}
	return Status{Results: []Result{r}}
}

// Bundle contains the parts of an OLM bundle that the tests use. `operator-sdk bundle validate` checks that a bundle has them.
type Bundle struct {
	Examples []unstructured.Unstructured
	Install
}

// Install describes the operator's Deployment and its permissions.
type Install struct {
	Deployments                     []struct{ Spec appsv1.DeploymentSpec }
	Permissions, ClusterPermissions []struct {
		ServiceAccountName string
		Rules              []rbacv1.PolicyRule
	}
}

// ReadBundle reads the bundle in a directory.
func ReadBundle(folder string) (Bundle, error) {
	var csv struct {
		Metadata struct{ Annotations map[string]string }
		Spec     struct{ Install struct{ Spec Install } }
	}
	text, err := os.ReadFile(filepath.Join(folder, "manifests", "echo-operator.clusterserviceversion.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &csv)
	}
	b := Bundle{Install: csv.Spec.Install.Spec}
	if err == nil {
		err = json.Unmarshal([]byte(csv.Metadata.Annotations["alm-examples"]), &b.Examples)
	}
	if err != nil {
		err = fmt.Errorf("reading the bundle: %w", err)
	}
	return b, err
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
