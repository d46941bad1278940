package descriptors

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

// layout returns the problems with how the console orders, explains, and edits fields.
func (p part) layout(all []bundle.Descriptor) []string {
	var problems []string
	for i, d := range all {
		report := func(problem string) { problems = append(problems, fmt.Sprintf("%s.%s: %s", p.name, d.Path, problem)) }
		if parent := parentOf(d.Path); parent != "" && (i == 0 || !isIn(all[i-1].Path, parent)) {
			report("it does not follow the descriptor of the field that contains it: the console shows fields in the order of the descriptors")
		}
		if first, _ := utf8.DecodeRuneInString(d.Description); unicode.IsLower(first) {
			report("its description does not begin with a capital letter")
		}
		field, _ := p.fields.At(d.Path)
		if p.name == "spec" && field.Type == "array" && !slices.Contains(d.XDescriptors, console+"hidden") && !hasItems(all, d.Path) {
			report("its items have no descriptors: the console does not show them on the page of an object")
		}
		if values := cannotSet(d, field); len(values) > 0 {
			report(fmt.Sprintf("its widget cannot set %v", values))
		}
	}
	return problems
}

// parentOf returns the path of the field that contains a field or an item, or "" for a top-level field of spec or status.
func parentOf(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return strings.TrimSuffix(path[:i], "[0]")
	}
	return ""
}

// isIn reports whether a path leads to a field, or to a part of it.
func isIn(path, field string) bool {
	return path == field || strings.HasPrefix(path, field+".") || strings.HasPrefix(path, field+"[")
}

func hasItems(all []bundle.Descriptor, list string) bool {
	return slices.ContainsFunc(all, func(d bundle.Descriptor) bool { return strings.HasPrefix(d.Path, list+"[0]") })
}

// cannotSet returns those values of a field that the field's widget does not offer.
func cannotSet(d bundle.Descriptor, field bundle.Schema) []any {
	offered := map[any]bool{}
	for _, x := range d.XDescriptors {
		if value, ok := strings.CutPrefix(x, console+"select:"); ok {
			offered[value] = true
		}
		if x == console+"imagePullPolicy" {
			offered["Always"], offered["IfNotPresent"] = true, true
		}
	}
	if len(offered) == 0 { // the console offers the schema's values as a list
		return nil
	}
	return slices.DeleteFunc(slices.Clone(field.Enum), func(value any) bool { return offered[value] })
}
