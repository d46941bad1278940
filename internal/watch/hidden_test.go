package watch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShownHidesTheValuesOfEnvironments(t *testing.T) {
	const value, secretRef = `{name: A, value: s3cret}`, `{name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}`
	for name, c := range map[string]struct{ object, want string }{
		"of an Echo":                         {`{spec: {env: [` + value + `, ` + secretRef + `]}}`, `{spec: {env: [{name: A, value: (hidden)}, ` + secretRef + `]}}`},
		"of a container":                     {`{spec: {containers: [{name: c, env: [` + value + `]}]}}`, `{spec: {containers: [{name: c, env: [{name: A, value: (hidden)}]}]}}`},
		"of a pod template":                  {`{spec: {template: {spec: {initContainers: [{env: [` + value + `]}]}}}}`, `{spec: {template: {spec: {initContainers: [{env: [{name: A, value: (hidden)}]}]}}}}`},
		"an empty value":                     {`{env: [{name: A, value: ""}]}`, `{env: [{name: A, value: (hidden)}]}`},
		"other values":                       {`{headers: [{name: X, value: v}], value: v}`, `{headers: [{name: X, value: v}], value: v}`},
		"no list":                            {`{env: {name: A, value: v}}`, `{env: {name: A, value: v}}`},
		"names of variables that are values": {`{env: [{name: value, value: s3cret}]}`, `{env: [{name: value, value: (hidden)}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			before := object(t, c.object)
			if diff := cmp.Diff(any(object(t, c.want)), shown(place{}, before)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(object(t, c.object), before); diff != "" {
				t.Errorf("the object in memory was changed: %s", diff)
			}
		})
	}
}

// TestNoSecretIsShownAnywhereInAnEnvironment walks down to each part of an object, as changes does, and looks for the secret.
func TestNoSecretIsShownAnywhereInAnEnvironment(t *testing.T) {
	spec := object(t, `{env: [{name: A, value: s3cret}], nested: {env: [{name: A, value: s3cret}]}}`)
	root := place{}.field("spec")
	variable := root.field("env").element("A")
	for name, c := range map[string]struct {
		at    place
		value any
	}{
		"the spec":        {root, spec},
		"the environment": {root.field("env"), spec["env"]},
		"the variable":    {variable, spec["env"].([]any)[0]},
		"the value":       {variable.field("value"), "s3cret"},
		"one inside":      {root.field("nested"), spec["nested"]},
	} {
		text, err := json.Marshal(shown(c.at, c.value))
		if err != nil || strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), "(hidden)") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if got := shown(variable.field("value"), nil); got != nil {
		t.Errorf("a value that does not exist is shown as %v", got)
	}
	if got := shown(variable.field("name"), "A"); got != "A" {
		t.Errorf("the name of a variable is shown as %v", got)
	}
}

func TestStrip(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"books":              {`{metadata: {name: a, managedFields: [{manager: m}], annotations: {kubectl.kubernetes.io/last-applied-configuration: x, y: z}}}`, `{metadata: {name: a, annotations: {y: z}}}`},
		"no annotation left": {`{metadata: {name: a, annotations: {kubectl.kubernetes.io/last-applied-configuration: x}}}`, `{metadata: {name: a}}`},
		"nothing to strip":   {`{metadata: {name: a}}`, `{metadata: {name: a}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := strip(state(t, c.before))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(state(t, c.after), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStripIgnoresOtherTypes(t *testing.T) {
	if got, err := strip("text"); got != "text" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
