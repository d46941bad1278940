package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// finishBundle completes a bundle's ClusterServiceVersion that operator-sdk has generated from a base, and makes it reproducible. It adds
// the creation date of the base, the icon in an SVG file, and the spec descriptors in a YAML file. It also adds help texts, a status for
// each example except the first, and the image of must-gather, if given, which mirrors must copy although no pod runs it.
func finishBundle(file, base, icon, descriptors string, mustGather []string) error {
	csv, err := read[object](file)
	if err != nil {
		return err
	}
	source, err := read[object](base)
	if err != nil {
		return err
	}
	created := at[string](source, "metadata", "annotations", "createdAt")
	if created == "" {
		return fmt.Errorf("%s has no annotation createdAt", base)
	}
	picture, err := os.ReadFile(icon)
	if err != nil {
		return err
	}
	more, err := read[[]any](descriptors)
	if err != nil {
		return err
	}
	annotations, spec := at[object](csv, "metadata", "annotations"), at[object](csv, "spec")
	annotations["createdAt"] = created
	spec["icon"] = []any{object{"base64data": base64.StdEncoding.EncodeToString(picture), "mediatype": "image/svg+xml"}}
	for _, image := range mustGather {
		spec["relatedImages"] = append(at[[]any](spec, "relatedImages"), object{"image": image, "name": "must-gather"})
	}
	for _, kind := range list(spec, "customresourcedefinitions", "owned") {
		if err := describe(kind, more); err != nil {
			return err
		}
	}
	const examples = "alm-examples"
	if annotations[examples], err = withStatuses(at[string](annotations, examples)); err != nil {
		return fmt.Errorf("%s: %w", examples, err)
	}
	return write(file, csv)
}

// withStatuses adds the status of a Ready Echo to each example except the first, as scorecard suggests. The OpenShift console shows and
// posts the first example without changes.
func withStatuses(written string) (string, error) {
	var examples []object
	decoder := json.NewDecoder(strings.NewReader(written))
	decoder.UseNumber() // preserves large numbers
	if err := decoder.Decode(&examples); err != nil {
		return "", err
	}
	for _, example := range examples[min(1, len(examples)):] {
		replicas := at[any](example, "spec", "replicas")
		example["status"] = object{"phase": "Ready", "replicas": replicas, "updatedReplicas": replicas, "readyReplicas": replicas}
	}
	finished, err := json.MarshalIndent(examples, "", "  ")
	return string(finished), err
}
