// Package descriptors checks a bundle's descriptors against its CRDs and the widgets of the OpenShift console.
package descriptors

import (
	"fmt"
	"maps"
	"slices"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

// Problems returns the problems with the descriptors of the kinds that a bundle owns.
func Problems(b bundle.Bundle) []string {
	var problems []string
	for _, owned := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		schema, ok := b.Schema(owned)
		if !ok {
			problems = append(problems, fmt.Sprintf("the bundle has no CustomResourceDefinition %s with version %s", owned.Name, owned.Version))
			continue
		}
		spec, status := part{"spec", schema.Properties["spec"], specWidgets()}, part{"status", schema.Properties["status"], statusWidgets()}
		problems = slices.Concat(problems, spec.problems(owned.SpecDescriptors), spec.layout(owned.SpecDescriptors),
			status.problems(owned.StatusDescriptors), status.layout(owned.StatusDescriptors))
	}
	return problems
}

// part is either spec or status, with the widgets that the console has for its fields.
type part struct {
	name    string
	fields  bundle.Schema
	widgets []widget
}

func (p part) problems(all []bundle.Descriptor) []string {
	var problems []string
	described := map[string]bool{}
	for _, d := range all {
		if described[d.Path] {
			problems = append(problems, fmt.Sprintf("%s.%s has two descriptors", p.name, d.Path))
		}
		described[d.Path] = true
		for _, problem := range p.check(d) {
			problems = append(problems, fmt.Sprintf("%s.%s: %s", p.name, d.Path, problem))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.fields.Properties)) {
		if !described[name] {
			problems = append(problems, fmt.Sprintf("%s.%s has no descriptor", p.name, name))
		}
	}
	return problems
}

func (p part) check(d bundle.Descriptor) []string {
	field, ok := p.fields.At(d.Path)
	if !ok {
		return []string{"there is no such field"}
	}
	var problems []string
	if d.DisplayName == "" || d.Description == "" {
		problems = append(problems, "it lacks a display name or a description")
	}
	for _, x := range d.XDescriptors {
		if problem := p.checkWidget(x, field); problem != "" {
			problems = append(problems, x+" "+problem)
		}
	}
	return problems
}

// checkWidget returns why the console does not support an x-descriptor for a field, or "" if the console supports it.
func (p part) checkWidget(x string, field bundle.Schema) string {
	w, argument, ok := find(p.widgets, x)
	switch {
	case !ok:
		return "is not supported by the console"
	case len(w.types) > 0 && !slices.Contains(w.types, field.Type):
		return fmt.Sprintf("is for a field of type %v, but this field is of type %q", w.types, field.Type)
	case w.argument == nil:
		return ""
	default:
		return w.argument(p.fields, field, argument)
	}
}
