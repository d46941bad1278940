// finish-bundle puts right what operator-sdk leaves out of a bundle, or changes at every run, so that the same tree always
// gives the same bundle.
//
// usage: finish-bundle CSV BASE ICON OPENSHIFT      (from the project's root)
//
// CSV is the bundle's ClusterServiceVersion, BASE the one that it was generated from. The date of creation is BASE's, the icon
// is the SVG file ICON, each example gets a status, and OPENSHIFT, such as v4.17, is the first version of OpenShift that the
// bundle is for; it is written into bundle/metadata/annotations.yaml and bundle.Dockerfile, which must say the same.
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
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: finish-bundle CSV BASE ICON OPENSHIFT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "finish-bundle: "+err.Error())
		os.Exit(1)
	}
}

func run(csv, base, icon, openshift string) error {
	if err := finishCSV(csv, base, icon); err != nil {
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

// finishCSV sets the date of creation, the icon and the status of the examples.
func finishCSV(csv, base, icon string) error {
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
	return edit(csv, yaml.SetAnnotation("createdAt", created), yaml.Tee(yaml.Lookup("spec"), yaml.SetField("icon", icons)),
		yaml.FilterFunc(addStatuses))
}

// addStatuses gives each example the status that it has when all its echo servers answer: scorecard suggests that examples have
// one. Who makes an Echo of an example is not misled, for the API server drops a status that comes with a new object.
func addStatuses(csv *yaml.RNode) (*yaml.RNode, error) {
	const annotation = "alm-examples"
	written := csv.GetAnnotations()[annotation]
	var examples []map[string]any
	decoder := json.NewDecoder(strings.NewReader(written))
	decoder.UseNumber() // which leaves large numbers as they are
	if err := decoder.Decode(&examples); err != nil {
		return nil, fmt.Errorf("%s: %w", annotation, err)
	}
	if same, err := json.MarshalIndent(examples, "", "  "); err != nil || string(same) != written {
		return nil, fmt.Errorf("%s would change by more than the status", annotation)
	}
	for _, example := range examples {
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
