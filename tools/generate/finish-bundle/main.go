// finish-bundle completes a bundle that operator-sdk has generated, and makes it reproducible.
//
// usage: finish-bundle CSV BASE ICON DESCRIPTORS OPENSHIFT [MUST_GATHER]      (in the root of the project)
//
// CSV is the bundle's ClusterServiceVersion, and BASE is the ClusterServiceVersion from which it was generated. finish-bundle adds to CSV
// the creation date of BASE, the icon in the SVG file ICON, and the spec descriptors in the YAML file DESCRIPTORS. It also adds help texts,
// and a status for each example except the first. OPENSHIFT, such as v4.17, is the first OpenShift version that the bundle supports.
// finish-bundle writes the value of OPENSHIFT to bundle/metadata/annotations.yaml and bundle.Dockerfile. MUST_GATHER is an image that
// mirrors must copy although no pod runs it.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const versionsLabel = "com.redhat.openshift.versions"

func main() {
	if len(os.Args) < 6 || len(os.Args) > 7 {
		fmt.Fprintln(os.Stderr, "usage: finish-bundle CSV BASE ICON DESCRIPTORS OPENSHIFT [MUST_GATHER]")
		os.Exit(2)
	}
	err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5])
	if err == nil && len(os.Args) == 7 {
		err = edit(os.Args[1], addRelatedImage("must-gather", os.Args[6]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "finish-bundle: "+err.Error())
		os.Exit(1)
	}
}

func run(csv, base, icon, descriptors, openshift string) error {
	if err := finishCSV(csv, base, icon, descriptors); err != nil {
		return err
	}
	annotation := yaml.Tee(yaml.Lookup("annotations"), yaml.SetField(versionsLabel, yaml.NewStringRNode(openshift)))
	if err := edit("bundle/metadata/annotations.yaml", annotation); err != nil {
		return err
	}
	dockerfile, err := os.ReadFile("bundle.Dockerfile")
	if err != nil {
		return err
	}
	const from = "FROM scratch\n"
	if !strings.HasPrefix(string(dockerfile), from) {
		return fmt.Errorf("bundle.Dockerfile does not begin with %q", from)
	}
	label := from + "\nLABEL " + versionsLabel + "=" + openshift + "\n"
	return os.WriteFile("bundle.Dockerfile", []byte(label+strings.TrimPrefix(string(dockerfile), from)), 0o600)
}

// finishCSV sets the creation date, the icon, the descriptors and the examples' statuses.
func finishCSV(csv, base, icon, descriptors string) error {
	source, err := yaml.ReadFile(base)
	if err != nil {
		return err
	}
	created := source.GetAnnotations()["createdAt"]
	if created == "" {
		return fmt.Errorf("%s has no annotation createdAt", base)
	}
	picture, err := os.ReadFile(icon)
	if err != nil {
		return err
	}
	icons, err := yaml.Parse("- base64data: " + base64.StdEncoding.EncodeToString(picture) + "\n  mediatype: image/svg+xml\n")
	if err != nil {
		return err
	}
	more, err := yaml.ReadFile(descriptors)
	if err != nil {
		return err
	}
	described := func(csv *yaml.RNode) (*yaml.RNode, error) { return csv, describe(csv, more) }
	return edit(csv, yaml.SetAnnotation("createdAt", created), yaml.Tee(yaml.Lookup("spec"), yaml.SetField("icon", icons)),
		yaml.FilterFunc(described), yaml.FilterFunc(addStatuses))
}

// addRelatedImage adds an image to the list of images that mirrors copy.
func addRelatedImage(name, image string) yaml.Filter {
	item := yaml.MustParse("image: " + image + "\nname: " + name + "\n") // Go maps have no order
	return yaml.Tee(yaml.Lookup("spec", "relatedImages"), yaml.Append(item.YNode()))
}

// addStatuses adds the status of a Ready Echo to each example except the first, as scorecard suggests. The OpenShift console shows and
// posts the first example without changes.
func addStatuses(csv *yaml.RNode) (*yaml.RNode, error) {
	const annotation = "alm-examples"
	written := csv.GetAnnotations()[annotation]
	var examples []map[string]any
	decoder := json.NewDecoder(strings.NewReader(written))
	decoder.UseNumber() // preserves large numbers
	if err := decoder.Decode(&examples); err != nil {
		return nil, fmt.Errorf("%s: %w", annotation, err)
	}
	if same, err := json.MarshalIndent(examples, "", "  "); err != nil || string(same) != written {
		return nil, fmt.Errorf("decoding and encoding %s changes it", annotation)
	}
	for _, example := range examples[min(1, len(examples)):] {
		spec, _ := example["spec"].(map[string]any)
		replicas := spec["replicas"]
		example["status"] = map[string]any{"phase": "Ready", "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas}
	}
	finished, err := json.MarshalIndent(examples, "", "  ")
	if err != nil {
		return nil, err
	}
	return csv.Pipe(yaml.SetAnnotation(annotation, string(finished)))
}

// edit changes a YAML file.
func edit(file string, changes ...yaml.Filter) error {
	document, err := yaml.ReadFile(file)
	if err != nil {
		return err
	}
	for _, change := range changes {
		if _, err := document.Pipe(change); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return yaml.WriteFile(document, file)
}
