package consoleform

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

const tectonic = "urn:alm:descriptor:com.tectonic.ui:"

// Fields returns the paths of the spec fields that the form shows: groups, values, and the items in lists of values.
//
// operator-lifecycle-manager/src/components/operand/utils.ts: descriptorsToUISchema
func Fields(spec map[string]any, descriptors []bundle.Descriptor) []string {
	widgets := map[string][]string{}
	for _, d := range descriptors {
		widgets[d.Path] = d.XDescriptors
	}
	return shown(spec, "", widgets)[1:]
}

// shown returns the path of a field and the paths of the fields inside the field. If the field is hidden or contains nothing that the form
// can show, shown returns no paths. The form cannot show maps, or unions such as IntOrString.
//
// console-shared/src/components/dynamic-form/utils.ts: hasNoFields; fields.tsx: CustomSchemaField
func shown(schema map[string]any, path string, widgets map[string][]string) []string {
	own := widgets[path]
	if slices.Contains(own, tectonic+"hidden") || schema["anyOf"] != nil || schema["oneOf"] != nil || schema["allOf"] != nil {
		return nil
	}
	var inside []string
	properties, _ := schema["properties"].(map[string]any)
	items, _ := schema["items"].(map[string]any)
	switch {
	case slices.Contains(own, tectonic+"resourceRequirements"): // this widget displays the whole group
		return []string{path}
	case items != nil:
		inside = shown(items, path+"[0]", widgets)
		if items["type"] == "object" && len(inside) > 0 {
			inside = inside[1:] // list items have no title
		}
	case schema["type"] != "object":
		return []string{path}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inside = append(inside, shown(properties[name].(map[string]any), strings.TrimPrefix(path+"."+name, "."), widgets)...)
	}
	if len(inside) == 0 {
		return nil
	}
	return append([]string{path}, inside...)
}

// OnPage reports whether an object's page shows a descriptor's field. The page ignores lists that are nested in other lists.
//
// operator-lifecycle-manager/src/components/descriptors/utils.ts: groupDescriptorDetails; const.ts: REGEXP_NESTED_ARRAY_PATH
func OnPage(d bundle.Descriptor) bool {
	nested := regexp.MustCompile(`^.*\[\d+\]\.?.*\[\d+\]\.?.*$`)
	return !nested.MatchString(d.Path) && !slices.Contains(d.XDescriptors, tectonic+"hidden")
}
