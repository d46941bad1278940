package openshift

import (
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/config/manifests"
	"github.com/echo-operator/echo-operator/config/samples"
)

// ConsoleAPI returns the API that extends the OpenShift console: github.com/openshift/api/console/v1.
func ConsoleAPI() schema.GroupVersion {
	return schema.GroupVersion{Group: "console.openshift.io", Version: "v1"}
}

//go:embed console_objects
var consoleFiles embed.FS

// ConsoleObjects returns the objects that the OpenShift console shows for Echoes: samples, snippets, and quick starts. If the cluster does
// not serve Gateway API, ConsoleObjects omits the sample that requires it.
func ConsoleObjects(gatewayAPI bool) ([]*unstructured.Unstructured, error) {
	objects, noSamples := collect(samples.Files, "*.yaml", sample(""))
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetName() == "echo-operator-example-gateway" && !gatewayAPI
	})
	snippets, noSnippets := collect(consoleFiles, "console_objects/snippets/*.yaml", sample("snippet-"))
	starts, noStarts := collect(consoleFiles, "console_objects/*.yaml", func(name, text string) (*unstructured.Unstructured, error) {
		content := struct{ Spec map[string]any }{}
		if err := yaml.Unmarshal([]byte(text), &content); err != nil {
			return nil, err
		}
		content.Spec["icon"] = "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(manifests.Icon))
		return object("ConsoleQuickStart", name, content.Spec), nil
	})
	return slices.Concat(objects, snippets, starts), errors.Join(noSamples, noSnippets, noStarts)
}

// collect creates an object from each file that matches a pattern. make receives the file's name (without extension) and content.
func collect(files fs.FS, pattern string,
	make func(name, text string) (*unstructured.Unstructured, error)) ([]*unstructured.Unstructured, error) {
	names, err := fs.Glob(files, pattern)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		object, err := make(strings.TrimSuffix(path.Base(name), ".yaml"), string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// sample returns a function that creates a sample for the YAML editor. A sample is a snippet if its name has a prefix.
func sample(prefix string) func(name, text string) (*unstructured.Unstructured, error) {
	return func(name, text string) (*unstructured.Unstructured, error) {
		title, description, content := describedBy(text)
		return object("ConsoleYAMLSample", prefix+strings.Replace(name, "v1_echo_", "example-", 1), map[string]any{
			"targetResource": map[string]any{"apiVersion": v1.GroupVersion.String(), "kind": "Echo"},
			"title":          title,
			"description":    description,
			"yaml":           content,
			"snippet":        prefix != "",
		}), nil
	}
}

// describedBy splits a string into the first line of its initial comment, the other comment lines, and the rest.
func describedBy(text string) (title, description, content string) {
	var comment []string
	for {
		line, rest, found := strings.Cut(text, "\n")
		if !found || !strings.HasPrefix(line, "# ") {
			break
		}
		comment, text = append(comment, strings.TrimPrefix(line, "# ")), rest
	}
	if len(comment) == 0 {
		return "", "", text
	}
	return comment[0], strings.Join(comment[1:], " "), text
}

func object(kind, name string, spec map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	o.SetAPIVersion(ConsoleAPI().String())
	o.SetKind(kind)
	o.SetName("echo-operator-" + strings.ReplaceAll(name, "_", "-"))
	o.SetLabels(map[string]string{"app.kubernetes.io/name": "echo-operator", "app.kubernetes.io/managed-by": "echo-operator"})
	return o
}

// RouteKind returns the kind of the Routes that OpenShift creates for Ingresses (github.com/openshift/api/route/v1).
func RouteKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "route.openshift.io", Version: "v1", Kind: "Route"}
}
