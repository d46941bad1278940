// olmv1-installer prints only the objects that allow OLM v1 to install and upgrade a bundle: a namespace, a ServiceAccount, and its roles.
// OLM v1 uses the permissions of that ServiceAccount. The ServiceAccount must hold each permission that it grants to the operator.
//
// usage: olmv1-installer BUNDLE EXTENSION NAMESPACE
//
// EXTENSION is the name of the ClusterExtension, and NAMESPACE is the operator's namespace.
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: olmv1-installer BUNDLE EXTENSION NAMESPACE")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "olmv1-installer: "+err.Error())
		os.Exit(1)
	}
}

func run(out io.Writer, bundle, extension, namespace string) error {
	content, err := read(filepath.Join(bundle, "manifests"))
	if err != nil {
		return err
	}
	for i, object := range content.objects(extension, namespace) {
		text, err := yaml.MarshalWithOptions(object, &yaml.EncoderOptions{SeqIndent: yaml.CompactSequenceStyle})
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// rule is a PolicyRule from Kubernetes' RBAC API.
type rule struct {
	APIGroups       []string `yaml:"apiGroups,omitempty"`
	Resources       []string `yaml:"resources,omitempty"`
	ResourceNames   []string `yaml:"resourceNames,omitempty"`
	NonResourceURLs []string `yaml:"nonResourceURLs,omitempty"`
	Verbs           []string `yaml:"verbs"`
}

// granted contains the rules that one role grants.
type granted struct {
	Rules []rule `yaml:"rules"`
}

// manifest contains the relevant fields of an object in a bundle.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Rules    []rule
	Spec     struct {
		Install struct {
			Spec struct {
				Deployments []struct {
					Name string
					Spec struct {
						Template struct {
							Spec struct {
								ServiceAccountName string `yaml:"serviceAccountName"`
							}
						}
					}
				}
				Permissions        []granted
				ClusterPermissions []granted `yaml:"clusterPermissions"`
			}
		}
	}
}

// content describes the objects that OLM v1 creates for a bundle.
type content struct {
	rules []rule              // rules that OLM grants
	names map[string][]string // names of objects by kind
}

// read reads a bundle's manifests.
func read(folder string) (content, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return content{}, err
	}
	if len(files) == 0 {
		return content{}, fmt.Errorf("%s: no manifests", folder)
	}
	c := content{names: map[string][]string{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return content{}, err
		}
		var m manifest
		if err := yaml.Unmarshal(text, &m); err != nil {
			return content{}, fmt.Errorf("%s: %w", file, err)
		}
		c.add(m)
	}
	return c, nil
}

// add adds a manifest. It does not add the name of a ClusterServiceVersion, because OLM only creates other objects from a
// ClusterServiceVersion.
func (c *content) add(m manifest) {
	c.rules = append(c.rules, m.Rules...)
	if m.Kind != "ClusterServiceVersion" {
		c.names[m.Kind] = append(c.names[m.Kind], m.Metadata.Name)
	}
	install := m.Spec.Install.Spec
	for _, role := range slices.Concat(install.Permissions, install.ClusterPermissions) {
		c.rules = append(c.rules, role.Rules...)
	}
	for _, deployment := range install.Deployments {
		c.names["Deployment"] = append(c.names["Deployment"], deployment.Name)
		c.names["ServiceAccount"] = append(c.names["ServiceAccount"], deployment.Spec.Template.Spec.ServiceAccountName)
	}
}

// objects returns the objects to print.
func (c content) objects(extension, namespace string) []any {
	installer := extension + "-installer"
	cluster := []rule{{APIGroups: []string{"olm.operatorframework.io"}, Resources: []string{"clusterextensions/finalizers"},
		ResourceNames: []string{extension}, Verbs: []string{"update"}}}
	cluster = append(cluster, manage("apiextensions.k8s.io", "CustomResourceDefinition", c.names["CustomResourceDefinition"])...)
	// OLM generates role names that contain a hash, which changes with each version. The API server rejects roles that grant more permissions
	// than the installer has.
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		cluster = append(cluster, manage("rbac.authorization.k8s.io", kind, nil)...)
	}
	// Newer versions of OLM also grant these permissions to the operator if the operator watches all namespaces.
	cluster = append(cluster, rule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}})
	var inside []rule
	for _, kind := range []string{"Deployment", "PodDisruptionBudget", "Service", "ServiceAccount"} {
		group := map[string]string{"Deployment": "apps", "PodDisruptionBudget": "policy"}[kind]
		inside = append(inside, manage(group, kind, c.names[kind])...)
		// OLM watches the kinds of the objects that it has created, in all namespaces.
		cluster = append(cluster,
			rule{APIGroups: []string{group}, Resources: []string{strings.ToLower(kind) + "s"}, Verbs: []string{"list", "watch"}})
	}
	return []any{
		object("v1", "Namespace", "", namespace, nil),
		object("v1", "ServiceAccount", namespace, installer, nil),
		object(rbac, "ClusterRole", "", installer, map[string]any{"rules": append(cluster, c.rules...)}),
		object(rbac, "ClusterRoleBinding", "", installer, binding("ClusterRole", installer, namespace)),
		object(rbac, "Role", namespace, installer, map[string]any{"rules": inside}),
		object(rbac, "RoleBinding", namespace, installer, binding("Role", installer, namespace)),
	}
}

const rbac = "rbac.authorization.k8s.io/v1"

// manage returns the rules that allow creating, changing and deleting objects. If names are given, getting, changing and deleting objects
// is limited to these names. Creation cannot be limited to names, because the API server does not know the object's name when it authorizes
// the request.
func manage(group, kind string, names []string) []rule {
	groups, resources := []string{group}, []string{strings.ToLower(kind) + "s"}
	if len(names) == 0 {
		return []rule{{APIGroups: groups, Resources: resources, Verbs: []string{"create", "list", "watch", "get", "update", "patch", "delete"}}}
	}
	return []rule{
		{APIGroups: groups, Resources: resources, Verbs: []string{"create", "list", "watch"}},
		{APIGroups: groups, Resources: resources, ResourceNames: names, Verbs: []string{"get", "update", "patch", "delete"}},
	}
}

// binding returns the fields of a binding that binds a role to the installer with the same name.
func binding(kind, installer, namespace string) map[string]any {
	return map[string]any{
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": installer},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": installer, "namespace": namespace}},
	}
}

// object returns an object with a name and the given additional fields.
func object(version, kind, namespace, name string, fields map[string]any) map[string]any {
	metadata := map[string]any{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	o := map[string]any{"apiVersion": version, "kind": kind, "metadata": metadata}
	maps.Copy(o, fields)
	return o
}
