package main

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
)

// printInstaller prints the objects that allow OLM v1 to install and upgrade a bundle: a namespace, a ServiceAccount, and its roles. OLM v1
// uses the permissions of that ServiceAccount. The ServiceAccount must hold each permission that it grants to the operator. The extension
// is the name of the ClusterExtension.
func printInstaller(out io.Writer, bundle, extension, namespace string) error {
	granted, names, err := contents(filepath.Join(bundle, "manifests"))
	if err != nil {
		return err
	}
	cluster := []any{object{"apiGroups": []string{"olm.operatorframework.io"}, "resources": []string{"clusterextensions/finalizers"},
		"resourceNames": []string{extension}, "verbs": []string{"update"}}}
	cluster = append(cluster, manage("apiextensions.k8s.io", "CustomResourceDefinition", names)...)
	// OLM's role names have a hash that changes with each version. The API server rejects roles that grant more than the installer has.
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		cluster = append(cluster, manage("rbac.authorization.k8s.io", kind, nil)...)
	}
	// Newer versions of OLM also grant these permissions to the operator if the operator watches all namespaces.
	cluster = append(cluster, rule("", "Namespace", "get", "list", "watch"))
	var inside []any
	for _, kind := range []string{"Deployment", "PodDisruptionBudget", "Service", "ServiceAccount"} {
		group := map[string]string{"Deployment": "apps", "PodDisruptionBudget": "policy"}[kind]
		inside = append(inside, manage(group, kind, names)...)
		// OLM watches the kinds of the objects that it has created, in all namespaces.
		cluster = append(cluster, rule(group, kind, "list", "watch"))
	}
	name := extension + "-installer"
	bind := func(kind string) object {
		return object{"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
			"subjects": []any{object{"kind": "ServiceAccount", "name": name, "namespace": namespace}}}
	}
	const rbac = "rbac.authorization.k8s.io/v1"
	separator := ""
	for _, each := range []object{
		manifest("v1", "Namespace", "", namespace, nil),
		manifest("v1", "ServiceAccount", namespace, name, nil),
		manifest(rbac, "ClusterRole", "", name, object{"rules": append(cluster, granted...)}),
		manifest(rbac, "ClusterRoleBinding", "", name, bind("ClusterRole")),
		manifest(rbac, "Role", namespace, name, object{"rules": inside}),
		manifest(rbac, "RoleBinding", namespace, name, bind("Role")),
	} {
		text, err := encode(each)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, separator+text); err != nil {
			return err
		}
		separator = "---\n"
	}
	return nil
}

// contents returns the rules that OLM grants for a bundle, and the names of the objects that OLM creates, by kind. It omits the
// ClusterServiceVersion, from which OLM v1 only creates other objects.
func contents(folder string) ([]any, map[string][]string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, nil, err
	}
	if len(files) == 0 {
		return nil, nil, fmt.Errorf("%s: no manifests", folder)
	}
	var rules []any
	names := map[string][]string{}
	for _, file := range files {
		m, err := read[object](file)
		if err != nil {
			return nil, nil, err
		}
		rules = append(rules, at[[]any](m, "rules")...)
		if kind := at[string](m, "kind"); kind != "ClusterServiceVersion" {
			names[kind] = append(names[kind], at[string](m, "metadata", "name"))
		}
		install := at[object](m, "spec", "install", "spec")
		for _, role := range append(list(install, "permissions"), list(install, "clusterPermissions")...) {
			rules = append(rules, at[[]any](role, "rules")...)
		}
		for _, deployment := range list(install, "deployments") {
			names["Deployment"] = append(names["Deployment"], at[string](deployment, "name"))
			account := at[string](deployment, "spec", "template", "spec", "serviceAccountName")
			names["ServiceAccount"] = append(names["ServiceAccount"], account)
		}
	}
	return rules, names, nil
}

// manage returns the rules that allow creating, changing and deleting objects. If the kind has names, getting, changing and deleting
// objects is limited to these names. Creation cannot be limited to names, because the API server does not know the name at authorization.
func manage(group, kind string, names map[string][]string) []any {
	if len(names[kind]) == 0 {
		return []any{rule(group, kind, "create", "list", "watch", "get", "update", "patch", "delete")}
	}
	named := rule(group, kind, "get", "update", "patch", "delete")
	named["resourceNames"] = names[kind]
	return []any{rule(group, kind, "create", "list", "watch"), named}
}

// rule returns a PolicyRule from Kubernetes' RBAC API.
func rule(group, kind string, verbs ...string) object {
	return object{"apiGroups": []string{group}, "resources": []string{strings.ToLower(kind) + "s"}, "verbs": verbs}
}

// manifest returns an object with a name and the given additional fields.
func manifest(version, kind, namespace, name string, fields object) object {
	metadata := object{"name": name}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	o := object{"apiVersion": version, "kind": kind, "metadata": metadata}
	maps.Copy(o, fields)
	return o
}
