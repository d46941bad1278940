package descriptors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/internal/scorecard/bundle"
)

const (
	console    = "urn:alm:descriptor:com.tectonic.ui:"
	kubernetes = "urn:alm:descriptor:io.kubernetes:"
)

// widget describes how the console shows a field.
type widget struct {
	// urn is the x-descriptor. If urn ends with a colon, an argument follows.
	urn string
	// types are the supported field types. If types is empty, any type is supported.
	types []string
	// argument checks an argument against the field and all fields of spec or status, and returns the problem, or "" if there is none.
	// argument is nil if the widget takes no argument.
	argument func(all, field bundle.Schema, argument string) string
}

// find returns the widget for an x-descriptor, and the x-descriptor's argument.
func find(widgets []widget, x string) (widget, string, bool) {
	for _, w := range widgets {
		argument, ok := strings.CutPrefix(x, w.urn)
		if ok && (argument == "") != strings.HasSuffix(w.urn, ":") {
			return w, argument, true
		}
	}
	return widget{}, "", false
}

// specWidgets returns the widgets that the console's form or an object's page can show for fields of the spec.
func specWidgets() []widget {
	text, object := []string{"string"}, []string{"object"}
	return []widget{
		{urn: console + "podCount", types: []string{"integer"}},
		{urn: console + "resourceRequirements", types: object},
		{urn: console + "updateStrategy", types: object},
		{urn: console + "nodeAffinity", types: object},
		{urn: console + "podAffinity", types: object},
		{urn: console + "podAntiAffinity", types: object},
		{urn: console + "imagePullPolicy", types: text},
		{urn: console + "booleanSwitch", types: []string{"boolean"}},
		{urn: console + "checkbox", types: []string{"boolean"}},
		{urn: console + "text", types: text},
		{urn: console + "number", types: []string{"integer", "number"}},
		{urn: console + "password", types: text},
		{urn: console + "select:", types: text, argument: checkValue},
		{urn: console + "selector:", types: object, argument: checkKind},
		{urn: console + "endpointList", types: []string{"array"}},
		{urn: console + "advanced"},
		{urn: console + "hidden"},
		{urn: console + "fieldDependency:", argument: checkDependency},
		{urn: kubernetes, types: text, argument: checkKind},
	}
}

// statusWidgets returns the widgets that an object's page can show for fields of the status.
func statusWidgets() []widget {
	text := []string{"string"}
	return []widget{
		{urn: console + "podStatuses", types: []string{"object"}},
		{urn: console + "password", types: text},
		{urn: console + "hidden"},
		{urn: "urn:alm:descriptor:text", types: []string{"string", "integer", "number", "boolean"}},
		{urn: "urn:alm:descriptor:org.w3:link", types: text},
		{urn: "urn:alm:descriptor:io.kubernetes.conditions", types: []string{"array"}},
		{urn: "urn:alm:descriptor:io.kubernetes.phase", types: text},
		{urn: "urn:alm:descriptor:io.kubernetes.phase:reason", types: text},
		{urn: kubernetes, types: text, argument: checkKind},
	}
}

// checkValue requires that the argument is a value that the field can have.
func checkValue(_, field bundle.Schema, value string) string {
	if len(field.Enum) == 0 || slices.Contains(field.Enum, any(value)) {
		return ""
	}
	return fmt.Sprintf("has a value that is not one of %v", field.Enum)
}

// checkKind requires the form Kind or group:version:Kind, optionally with a selector.
func checkKind(_, _ bundle.Schema, kind string) string {
	kind, _, _ = strings.Cut(kind, "?")
	if n := strings.Count(kind, ":"); n != 0 && n != 2 || strings.HasSuffix(kind, ":") {
		return "does not name a kind"
	}
	return ""
}

// checkDependency requires the path of a boolean or string field, and a value that the field can have.
func checkDependency(all, _ bundle.Schema, dependency string) string {
	path, value := dependency, ""
	if i := strings.LastIndex(dependency, ":"); i >= 0 {
		path, value = dependency[:i], dependency[i+1:]
	}
	control, ok := all.At(path)
	switch {
	case !ok:
		return "depends on a field that does not exist"
	case control.Type == "boolean" && (value == "true" || value == "false"):
		return ""
	case control.Type == "string" && value != "":
		return checkValue(all, control, value)
	default:
		return "depends on a value that the field cannot have"
	}
}
