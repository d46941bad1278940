package descriptors

import (
	"strings"
	"testing"

	"github.com/echo-operator/echo-operator/scorecard/bundle"
)

func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		widgets          []widget
		x, urn, argument string
	}{
		"exact":                        {specWidgets(), console + "text", console + "text", ""},
		"longer name":                  {specWidgets(), console + "textArea", "", ""},
		"shorter name":                 {specWidgets(), console + "tex", "", ""},
		"argument":                     {specWidgets(), console + "select:A", console + "select:", "A"},
		"argument with a colon":        {specWidgets(), console + "fieldDependency:a.b:true", console + "fieldDependency:", "a.b:true"},
		"argument that is missing":     {specWidgets(), console + "select:", "", ""},
		"argument where there is none": {specWidgets(), console + "text:A", "", ""},
		"kind":                         {specWidgets(), kubernetes + "Secret", kubernetes, "Secret"},
		"kind that is missing":         {specWidgets(), kubernetes, "", ""},
		"conditions, not a kind":       {statusWidgets(), "urn:alm:descriptor:io.kubernetes.conditions", "urn:alm:descriptor:io.kubernetes.conditions", ""},
		"phase, not a kind":            {statusWidgets(), "urn:alm:descriptor:io.kubernetes.phase", "urn:alm:descriptor:io.kubernetes.phase", ""},
		"reason of a phase":            {statusWidgets(), "urn:alm:descriptor:io.kubernetes.phase:reason", "urn:alm:descriptor:io.kubernetes.phase:reason", ""},
		"empty":                        {specWidgets(), "", "", ""},
		"another urn":                  {specWidgets(), "urn:example:text", "", ""},
	} {
		w, argument, ok := find(c.widgets, c.x)
		if w.urn != c.urn || argument != c.argument || ok != (c.urn != "") {
			t.Errorf("%s: found %q with %q, %t, want %q with %q", name, w.urn, argument, ok, c.urn, c.argument)
		}
	}
}

// TestTypesOfWidgets checks that a widget is for the type of its field: the console shows nothing, or the wrong thing, by one for another
// type.
func TestTypesOfWidgets(t *testing.T) {
	spec := part{"spec", fields(), specWidgets()}
	status := part{"status", fields(), statusWidgets()}
	types := map[string]string{"integer": "count", "boolean": "on", "string": "text", "array": "list", "object": "group"}
	for _, c := range []struct {
		part    part
		x, want string
	}{
		{spec, console + "podCount", "integer"},
		{spec, console + "number", "integer"},
		{spec, console + "booleanSwitch", "boolean"},
		{spec, console + "checkbox", "boolean"},
		{spec, console + "text", "string"},
		{spec, console + "password", "string"},
		{spec, console + "imagePullPolicy", "string"},
		{spec, console + "select:A", "string"},
		{spec, console + "resourceRequirements", "object"},
		{spec, console + "updateStrategy", "object"},
		{spec, console + "nodeAffinity", "object"},
		{spec, console + "podAffinity", "object"},
		{spec, console + "podAntiAffinity", "object"},
		{spec, console + "selector:apps:v1:Deployment", "object"},
		{spec, console + "endpointList", "array"},
		{spec, kubernetes + "Secret", "string"},
		{spec, console + "hidden", "integer boolean string array object"},
		{spec, console + "advanced", "integer boolean string array object"},
		{status, console + "hidden", "integer boolean string array object"},
		{status, console + "podStatuses", "object"},
		{status, console + "password", "string"},
		{status, "urn:alm:descriptor:text", "string integer boolean"},
		{status, "urn:alm:descriptor:org.w3:link", "string"},
		{status, "urn:alm:descriptor:io.kubernetes.conditions", "array"},
		{status, "urn:alm:descriptor:io.kubernetes.phase", "string"},
		{status, "urn:alm:descriptor:io.kubernetes.phase:reason", "string"},
		{status, kubernetes + "Secret", "string"},
	} {
		for kind, path := range types {
			wanted := strings.Contains(" "+c.want+" ", " "+kind+" ")
			problems := c.part.check(described(path, c.x))
			if wanted != (len(problems) == 0) {
				t.Errorf("%s on a field of type %s of the %s: %q, want it for %s", c.x, kind, c.part.name, problems, c.want)
			}
		}
	}
}

func TestEveryDeprecatedWidgetIsTold(t *testing.T) {
	all := deprecated()
	if len(all) != 4 {
		t.Errorf("%d are deprecated: %q", len(all), all)
	}
	for _, x := range all {
		if got := (part{"spec", fields(), specWidgets()}).checkWidget(x, bundle.Schema{Type: "string"}); got != "is deprecated" {
			t.Errorf("%s: %q", x, got)
		}
	}
}

func TestArguments(t *testing.T) {
	numbers := bundle.Schema{Type: "integer", Enum: []any{float64(1)}}
	neighbours := bundle.Schema{Properties: map[string]bundle.Schema{
		"deep":  {Type: "object", Properties: map[string]bundle.Schema{"on": {Type: "boolean"}}},
		"free":  {Type: "string"},
		"count": {Type: "integer"},
	}}
	for name, c := range map[string]struct{ got, want string }{
		"value of a free field":          {checkValue(neighbours, bundle.Schema{Type: "string"}, "anything"), ""},
		"value of another type":          {checkValue(neighbours, numbers, "1"), "has a value that is not one of [1]"},
		"kind":                           {checkKind(neighbours, numbers, "Secret"), ""},
		"kind of a group":                {checkKind(neighbours, numbers, "apps:v1:Deployment"), ""},
		"kind of the core group":         {checkKind(neighbours, numbers, "core:v1:Pod?a=b:c"), ""},
		"group and version only":         {checkKind(neighbours, numbers, "apps:v1"), "does not name a kind"},
		"group and version and a colon":  {checkKind(neighbours, numbers, "apps:v1:"), "does not name a kind"},
		"too many parts":                 {checkKind(neighbours, numbers, "a:b:c:D"), "does not name a kind"},
		"switch in a group":              {checkDependency(neighbours, numbers, "deep.on:false"), ""},
		"switch with another value":      {checkDependency(neighbours, numbers, "deep.on:False"), "depends on a value that the field cannot have"},
		"switch of a group that is none": {checkDependency(neighbours, numbers, "free.on:true"), "depends on a field that does not exist"},
		"free text":                      {checkDependency(neighbours, numbers, "free:text"), ""},
		"no value":                       {checkDependency(neighbours, numbers, "free:"), "depends on a value that the field cannot have"},
		"a number":                       {checkDependency(neighbours, numbers, "count:1"), "depends on a value that the field cannot have"},
		"a group":                        {checkDependency(neighbours, numbers, "deep:true"), "depends on a value that the field cannot have"},
		"no field":                       {checkDependency(neighbours, numbers, ":true"), "depends on a field that does not exist"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", name, c.got, c.want)
		}
	}
}
