package consoleform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func shipped(t *testing.T) Bundle {
	t.Helper()
	b, err := Read(root + "/bundle")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDescriptors_matchSchema checks that each field of the spec and the status has a descriptor, that each descriptor has widgets that can
// show and set its field, and that the order is that of the console, which shows a group or a list before its fields.
func TestDescriptors_matchSchema(t *testing.T) {
	b := shipped(t)
	for part, all := range map[string][]Descriptor{"spec": b.SpecDescriptors, "status": b.StatusDescriptors} {
		schema := map[string]map[string]any{"spec": b.Spec, "status": b.Status}[part]
		described := map[string]bool{}
		for i, d := range all {
			for _, problem := range problems(schema, d) {
				t.Errorf("%s.%s: %s", part, d.Path, problem)
			}
			if described[d.Path] {
				t.Errorf("%s.%s has two descriptors", part, d.Path)
			}
			described[d.Path] = true
			parent := regexp.MustCompile(`(\[0])?(^|\.)[^.]*$|\[0]$`).ReplaceAllString(d.Path, "")
			if parent != "" && (i == 0 || !strings.HasPrefix(all[i-1].Path+".", parent+".") && !strings.HasPrefix(all[i-1].Path, parent+"[")) {
				t.Errorf("%s.%s does not follow %s, which contains it", part, d.Path, parent)
			}
			isList := part == "spec" && At(schema, d.Path)["type"] == "array" && !slices.Contains(d.XDescriptors, tectonic+"hidden")
			if isList && (i+1 == len(all) || !strings.HasPrefix(all[i+1].Path, d.Path+"[0]")) {
				t.Errorf("%s.%s: its items have no descriptors: the console does not show them on the page of an Echo", part, d.Path)
			}
		}
		for name := range schema["properties"].(map[string]any) {
			if !described[name] {
				t.Errorf("%s.%s has no descriptor", part, name)
			}
		}
	}
}

func problems(schema map[string]any, d Descriptor) []string {
	var all []string
	field := At(schema, d.Path)
	kind, ok := field["type"].(string)
	if !ok {
		return []string{"there is no such field"}
	}
	if d.DisplayName == "" || d.Description == "" || unicode.IsLower(rune(d.Description[0])) {
		all = append(all, "it lacks a name, or a description that begins with a capital letter")
	}
	widgets := map[string]string{ // by type of the field, after urn:alm:descriptor:
		"integer": `com\.tectonic\.ui:(podCount|number)|text`,
		"boolean": `com\.tectonic\.ui:booleanSwitch`,
		"string":  `com\.tectonic\.ui:(text|select:.+)|text|org\.w3:link|io\.kubernetes:[A-Z][A-Za-z]+`,
		"object":  `com\.tectonic\.ui:(resourceRequirements|podStatuses)`,
		"array":   `io\.kubernetes\.conditions`,
	}
	supported := regexp.MustCompile(`^urn:alm:descriptor:(com\.tectonic\.ui:(advanced|hidden|fieldDependency:.+)|` + widgets[kind] + `)$`)
	var choices []any
	for _, x := range d.XDescriptors {
		if !supported.MatchString(x) {
			all = append(all, x+" is not a widget for this type of field")
		}
		if choice, ok := strings.CutPrefix(x, tectonic+"select:"); ok {
			choices = append(choices, choice)
		}
		if control, ok := strings.CutPrefix(x, tectonic+"fieldDependency:"); ok && At(schema, strings.TrimSuffix(control, ":true"))["type"] != "boolean" {
			all = append(all, x+" depends on a field that is not a boolean")
		}
	}
	values, _ := field["enum"].([]any)
	isMissing := func(in []any) func(any) bool { return func(value any) bool { return !slices.Contains(in, value) } }
	if len(choices) > 0 && len(values) > 0 && (slices.ContainsFunc(values, isMissing(choices)) || slices.ContainsFunc(choices, isMissing(values))) {
		all = append(all, fmt.Sprintf("its widget offers %v, but the field allows %v", choices, values))
	}
	return all
}

// TestForm_explainsEachField checks that each field has a title and help text. For a field without a descriptor, the form uses the YAML
// name as the title, and takes the help text from the schema. The schema has no help text for Kubernetes' types.
func TestForm_explainsEachField(t *testing.T) {
	described := map[string]Descriptor{}
	b := shipped(t)
	for _, d := range b.SpecDescriptors {
		described[d.Path] = d
	}
	shown := Fields(b.Spec, b.SpecDescriptors)
	for _, path := range shown {
		if d := described[path]; d.DisplayName == "" || d.Description == "" {
			t.Errorf("the form shows %s without a title or without help", path)
		}
	}
	for _, path := range []string{"replicas", "service.type", "resources", "args[0]", "env[0].valueFrom.secretKeyRef.name"} {
		if !slices.Contains(shown, path) {
			t.Errorf("the form does not show %s", path)
		}
	}
}

// TestPage_leavesOutListsInLists checks a limitation that docs/reference/console.md documents.
func TestPage_leavesOutListsInLists(t *testing.T) {
	var missing []string
	for _, d := range shipped(t).SpecDescriptors {
		if !OnPage(d) && !slices.Contains(d.XDescriptors, tectonic+"hidden") {
			missing = append(missing, d.Path)
		}
	}
	if want := []string{"checks[0].groups[0]", "checks[0].expect[0].fact", "checks[0].expect[0].value"}; !slices.Equal(missing, want) {
		t.Errorf("the page leaves out %q, want %q", missing, want)
	}
}

// TestForm_postsWhatWasTouched checks what the form posts if a user sets only a name: the first example, and the defaults of the groups
// that every Echo has.
func TestForm_postsWhatWasTouched(t *testing.T) {
	b := shipped(t)
	want := parse(t, `{apiVersion: example.com/v1, kind: Echo, metadata: {name: test-echo, namespace: default}, spec: {
		replicas: 2, port: 8080, service: {type: ClusterIP, port: 80}, server: {controls: Safe, identity: true},
		disruptionBudget: {enabled: true, maxUnavailable: 1}}}`)
	posted := Posted(b.Schema, b.Sample, b.Sample)
	if diff := cmp.Diff(want, posted); diff != "" {
		t.Error(diff)
	}
}
