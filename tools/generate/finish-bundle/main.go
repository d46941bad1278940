// finish-bundle puts right what operator-sdk leaves out of a bundle, or changes at every run, so that the same tree always
// gives the same bundle.
//
// usage: finish-bundle CSV BASE ICON OPENSHIFT      (from the project's root)
//
// CSV is the bundle's ClusterServiceVersion, BASE the one that it was generated from. The date of creation is BASE's, the icon
// is the SVG file ICON, and OPENSHIFT, such as v4.17, is the first version of OpenShift that the bundle is for; it is written
// into bundle/metadata/annotations.yaml and bundle.Dockerfile, which must say the same.
package main

import (
	"encoding/base64"
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

// finishCSV sets the date of creation and the icon.
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
	return edit(csv, yaml.SetAnnotation("createdAt", created), yaml.Tee(yaml.Lookup("spec"), yaml.SetField("icon", icons)))
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
