package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// describe completes the descriptions of an owned kind. It sorts its resources and adds spec descriptors. It also converts descriptions
// that start with the field's name, as in Go documentation, to help texts, which refer to other fields by their names in the console.
func describe(kind object, more []any) error {
	sortResources(at[[]any](kind, "resources"))
	for _, one := range more {
		inserted, err := insert(at[[]any](kind, "specDescriptors"), one)
		if err != nil {
			return err
		}
		kind["specDescriptors"] = inserted
	}
	specs, statuses, names := list(kind, "specDescriptors"), list(kind, "statusDescriptors"), map[string]string{}
	addNames(names, specs, "", "%q")
	addNames(names, statuses, "status.", "the status %q")
	for _, one := range slices.Concat(specs, statuses) {
		path := at[string](one, "path")
		field := path[strings.LastIndex(path, ".")+1:]
		text := readable(field, at[string](one, "description"))
		one["description"] = withNames(text, strings.TrimSuffix(path, field), names)
	}
	return nil
}

// addNames adds the names that texts use for fields in the console. The keys are the fields' paths.
func addNames(names map[string]string, descriptors []object, prefix, format string) {
	for _, one := range descriptors {
		if !slices.Contains(at[[]any](one, "x-descriptors"), any("urn:alm:descriptor:com.tectonic.ui:hidden")) {
			names[prefix+at[string](one, "path")] = fmt.Sprintf(format, at[string](one, "displayName"))
		}
	}
}

// sortResources sorts owners before the objects that they own. The OpenShift console looks for owned objects in the order of the list. It
// does not show a Pod if it has not yet found the Pod's ReplicaSet or Job.
func sortResources(resources []any) {
	order := []string{"Pod", "Job", "CronJob", "ReplicaSet", "Deployment"}
	slices.SortStableFunc(resources, func(a, b any) int {
		return slices.Index(order, at[string](b, "kind")) - slices.Index(order, at[string](a, "kind"))
	})
}

// insert inserts a descriptor after the last descriptor for a field in the same list or in a nested list.
func insert(descriptors []any, one any) ([]any, error) {
	path := at[string](one, "path")
	list := path[:max(0, strings.LastIndexByte(path, '['))]
	for i, other := range slices.Backward(descriptors) {
		if before := at[string](other, "path"); before == list || strings.HasPrefix(before, list+"[") {
			return slices.Insert(descriptors, i+1, one), nil
		}
	}
	return nil, fmt.Errorf("no descriptor describes %s", list)
}

// withNames replaces field paths and the names of fields in the same group with the names that the console shows. A word with neither a dot
// nor a capital letter is not treated as a field name.
func withNames(text, group string, names map[string]string) string {
	field := regexp.MustCompile(`\b[a-z]+(\.[a-z]\w*)+|\b[a-z]+[A-Z]\w*`)
	return field.ReplaceAllStringFunc(text, func(found string) string { return cmp.Or(names[group+found], names[found], found) })
}

// readable returns a field's description without the name and the verb: "replicas is the number of pods." becomes "The number of pods."
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
