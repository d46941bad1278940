package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// describe completes the descriptions of the owned kinds. It sorts their resources and inserts additional spec descriptors. It also
// converts descriptions that start with the field's name, as in Go documentation, to help texts. Help texts refer to other fields by the
// names that the console shows.
func describe(csv, more *yaml.RNode) error {
	owned, err := csv.Pipe(yaml.Lookup("spec", "customresourcedefinitions", "owned"))
	if err != nil || owned == nil {
		return fmt.Errorf("no kind is owned (%w)", err)
	}
	return owned.VisitElements(func(kind *yaml.RNode) error {
		sortResources(kind.Field("resources").Value)
		specs := kind.Field("specDescriptors").Value
		if err := more.VisitElements(func(one *yaml.RNode) error { return insert(specs, one) }); err != nil {
			return err
		}
		statuses := kind.Field("statusDescriptors").Value
		names := map[string]string{}
		addNames(names, specs, "", "%q")
		addNames(names, statuses, "status.", "the status %q")
		for _, descriptors := range []*yaml.RNode{specs, statuses} {
			if err := descriptors.VisitElements(func(one *yaml.RNode) error { return makeReadable(one, names) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// addNames adds the names that texts use for fields in the console. The keys are the fields' paths.
func addNames(names map[string]string, descriptors *yaml.RNode, prefix, format string) {
	for _, node := range descriptors.YNode().Content {
		one := yaml.NewRNode(node)
		if text, _ := one.String(); !strings.Contains(text, "com.tectonic.ui:hidden") {
			names[prefix+textOf(one, "path")] = fmt.Sprintf(format, textOf(one, "displayName"))
		}
	}
}

// sortResources sorts owners before the objects that they own. The OpenShift console looks for owned objects in the order of the list. It
// does not show a Pod if it has not yet found the Pod's ReplicaSet or Job.
func sortResources(resources *yaml.RNode) {
	owners := []string{"Deployment", "ReplicaSet", "CronJob", "Job", "Pod"}
	rank := func(node *yaml.Node) int {
		if i := slices.Index(owners, textOf(yaml.NewRNode(node), "kind")); i >= 0 {
			return i
		}
		return len(owners)
	}
	slices.SortStableFunc(resources.YNode().Content, func(a, b *yaml.Node) int { return rank(a) - rank(b) })
}

// insert inserts a descriptor after the last descriptor for a field in the same list or in a nested list.
func insert(descriptors, one *yaml.RNode) error {
	path := textOf(one, "path")
	list := path[:max(0, strings.LastIndexByte(path, '['))]
	content := descriptors.YNode().Content
	for i, other := range slices.Backward(content) {
		if before := textOf(yaml.NewRNode(other), "path"); before == list || strings.HasPrefix(before, list+"[") {
			descriptors.YNode().Content = slices.Insert(content, i+1, one.Copy().YNode())
			return nil
		}
	}
	return fmt.Errorf("no descriptor describes %s", list)
}

// makeReadable turns a descriptor's description from a sentence about a Go field into a help text.
func makeReadable(descriptor *yaml.RNode, names map[string]string) error {
	path := textOf(descriptor, "path")
	group, field := path[:strings.LastIndex(path, ".")+1], path[strings.LastIndex(path, ".")+1:]
	text := withNames(readable(field, textOf(descriptor, "description")), group, names)
	_, err := descriptor.Pipe(yaml.SetField("description", yaml.NewStringRNode(text)))
	return err
}

// withNames replaces field paths and the names of fields in the same group with the names that the console shows. A word with neither a dot
// nor a capital letter is not treated as a field name.
func withNames(text, group string, names map[string]string) string {
	field := regexp.MustCompile(`\b[a-z]+(\.[a-z]\w*)+|\b[a-z]+[A-Z]\w*`)
	return field.ReplaceAllStringFunc(text, func(found string) string { return cmp.Or(names[group+found], names[found], found) })
}

// readable returns a field's description without the field's name and the verb: "replicas is the number of pods." becomes "The number of
// pods."
func readable(field, description string) string {
	text, found := strings.CutPrefix(description, field+" ")
	if !found {
		return description
	}
	for _, verb := range []string{"is ", "are ", "specifies "} {
		if rest, cut := strings.CutPrefix(text, verb); cut {
			text = rest
			break
		}
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// textOf returns one of a descriptor's fields, or "" if the field is missing.
func textOf(node *yaml.RNode, field string) string {
	value, err := node.GetString(field)
	if err != nil {
		return ""
	}
	return value
}
