// Package consoleform tests the operator's bundle and its quick start against the OpenShift console's rules. A rule's function names its
// source: a file below frontend/packages in github.com/openshift/console as of August 2026, or in a library that the console uses.
package consoleform

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	consolev1 "github.com/openshift/api/console/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/openshift"
)

const (
	root     = "../../.."
	tectonic = "urn:alm:descriptor:com.tectonic.ui:"
)

// descriptor describes how the console shows a field.
type descriptor struct {
	Path, DisplayName, Description string
	XDescriptors                   []string `json:"x-descriptors"`
}

// bundle contains what the console reads from the operator's bundle.
type bundle struct {
	SpecDescriptors, StatusDescriptors []descriptor
	// spec and status are the schemas of an Echo's parts.
	spec, status map[string]any
}

// shipped returns what the console reads from the operator's bundle.
func shipped(t *testing.T) bundle {
	t.Helper()
	var csv struct {
		Spec struct{ CustomResourceDefinitions struct{ Owned []bundle } }
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	for name, into := range map[string]any{"echo-operator.clusterserviceversion.yaml": &csv, "example.com_echoes.yaml": &crd} {
		text, err := os.ReadFile(filepath.Join(root, "bundle", "manifests", name))
		if err := errors.Join(err, yaml.Unmarshal(text, into)); err != nil {
			t.Fatal(err)
		}
	}
	b, schema := csv.Spec.CustomResourceDefinitions.Owned[0], crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	b.spec, b.status = at(schema, "spec"), at(schema, "status")
	return b
}

// at returns the schema of the field at a path such as imagePullSecrets[0].name, or nil if there is no such field.
func at(schema map[string]any, path string) map[string]any {
	for name := range strings.SplitSeq(path, ".") {
		name, isItem := strings.CutSuffix(name, "[0]")
		properties, _ := schema["properties"].(map[string]any)
		schema, _ = properties[name].(map[string]any)
		if isItem {
			schema, _ = schema["items"].(map[string]any)
		}
	}
	return schema
}

// shown returns the path of a field and the paths of the fields inside the field. If the field is hidden or contains nothing that the form
// can show, shown returns no paths. The form cannot show maps, or unions such as IntOrString.
//
// operator-lifecycle-manager/src/components/operand/utils.ts: descriptorsToUISchema;
// console-shared/src/components/dynamic-form/utils.ts: hasNoFields; fields.tsx: CustomSchemaField
func shown(schema map[string]any, path string, described map[string]descriptor) []string {
	own := described[path].XDescriptors
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
		inside = shown(items, path+"[0]", described)
		if items["type"] == "object" && len(inside) > 0 {
			inside = inside[1:] // list items have no title
		}
	case schema["type"] != "object":
		return []string{path}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		inside = append(inside, shown(properties[name].(map[string]any), strings.TrimPrefix(path+"."+name, "."), described)...)
	}
	if len(inside) == 0 {
		return nil
	}
	return append([]string{path}, inside...)
}

// TestDescriptors_matchSchema checks that each field of the spec and the status has a descriptor, that each descriptor has widgets that can
// show and set its field, and that the order is that of the console, which shows a group or a list before its fields.
func TestDescriptors_matchSchema(t *testing.T) {
	b := shipped(t)
	for part, all := range map[string][]descriptor{"spec": b.SpecDescriptors, "status": b.StatusDescriptors} {
		schema := map[string]map[string]any{"spec": b.spec, "status": b.status}[part]
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
			isList := part == "spec" && at(schema, d.Path)["type"] == "array" && !slices.Contains(d.XDescriptors, tectonic+"hidden")
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

func problems(schema map[string]any, d descriptor) []string {
	var all []string
	field := at(schema, d.Path)
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
	if kind == "boolean" && !slices.Contains(d.XDescriptors, tectonic+"booleanSwitch") && !slices.Contains(d.XDescriptors, tectonic+"hidden") {
		all = append(all, "the form shows a checkbox, which has no state for an unset field")
	}
	var choices []any
	for _, x := range d.XDescriptors {
		if !supported.MatchString(x) {
			all = append(all, x+" is not a widget for this type of field")
		}
		if choice, ok := strings.CutPrefix(x, tectonic+"select:"); ok {
			choices = append(choices, choice)
		}
		if control, ok := strings.CutPrefix(x, tectonic+"fieldDependency:"); ok && at(schema, strings.TrimSuffix(control, ":true"))["type"] != "boolean" {
			all = append(all, x+" depends on a field that is not a boolean")
		}
	}
	values, _ := field["enum"].([]any)
	values = slices.DeleteFunc(values, func(value any) bool { return value == "" }) // the form omits a field without a value
	isMissing := func(in []any) func(any) bool { return func(value any) bool { return !slices.Contains(in, value) } }
	if len(choices) > 0 && len(values) > 0 && (slices.ContainsFunc(values, isMissing(choices)) || slices.ContainsFunc(choices, isMissing(values))) {
		all = append(all, fmt.Sprintf("its widget offers %v, but the field allows %v", choices, values))
	}
	return all
}

// TestForm_explainsEachField checks that each field has a title and help text. For a field without a descriptor, the form uses the YAML
// name as the title, and takes the help text from the schema. The schema has no help text for Kubernetes' types.
func TestForm_explainsEachField(t *testing.T) {
	described := map[string]descriptor{}
	b := shipped(t)
	for _, d := range b.SpecDescriptors {
		described[d.Path] = d
	}
	shown := shown(b.spec, "", described)[1:]
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

// quickStart returns the spec of the quick start that the operator creates.
func quickStart(t *testing.T) consolev1.ConsoleQuickStartSpec {
	t.Helper()
	objects, err := openshift.ConsoleObjects(true)
	if err != nil {
		t.Fatal(err)
	}
	start := consolev1.ConsoleQuickStart{}
	for _, o := range objects {
		if o.GetKind() == "ConsoleQuickStart" {
			err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &start, true)
		}
	}
	if err != nil || len(start.Spec.Tasks) == 0 {
		t.Fatalf("the quick start is %+v, %v", start, err)
	}
	return start.Spec
}

// textsOf returns all strings that the console treats as Markdown.
func textsOf(spec consolev1.ConsoleQuickStartSpec) []string {
	texts := []string{spec.Introduction, spec.Conclusion}
	for _, task := range spec.Tasks {
		texts = append(texts, task.Description, task.Review.Instructions, task.Review.FailedTaskHelp, task.Summary.Success, task.Summary.Failed)
	}
	return texts
}

// TestQuickStart_canBeCopied checks the strings that users can copy. Each block must be the complete or partial YAML of an Echo. The commands
// need only what each project has: they let users read the definition, and send requests to the first task's Echo, as the role edit allows.
func TestQuickStart_canBeCopied(t *testing.T) {
	var allBlocks, allCommands []string
	for _, text := range textsOf(quickStart(t)) {
		blocks, commands, err := copied(text)
		if err != nil {
			t.Error(err)
		}
		allBlocks, allCommands = append(allBlocks, blocks...), append(allCommands, commands...)
	}
	for _, block := range allBlocks {
		echo := v1.Echo{}
		if err := yaml.UnmarshalStrict([]byte(block), &echo); err != nil {
			t.Errorf("%s: %v", block, err)
		}
		if echo.Spec.Response == nil || echo.Spec.Response.StatusCode != http.StatusServiceUnavailable || echo.Spec.DesiredReplicas() != 2 {
			t.Errorf("the block is\n%s", block)
		}
	}
	const get = `oc get --raw "/api/v1/namespaces/$(oc project -q)/services/first:80/proxy/"`
	want := []string{"oc adm policy add-cluster-role-to-group echoes.example.com-v1-crdview system:authenticated", get, get}
	if diff := cmp.Diff(want, allCommands); diff != "" || len(allBlocks) != 1 {
		t.Errorf("there are %d blocks; commands: %s", len(allBlocks), diff)
	}
}

// TestDocs_translateCommandsOfMessages checks that the documentation names the console's counterpart of each command in a message, and the
// command with which an administrator lets developers see whole pages.
func TestDocs_translateCommandsOfMessages(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/reference/console.md")
	files, _ := filepath.Glob(root + "/internal/status/*.go")
	commands := []string{"oc adm policy add-cluster-role-to-group echoes.example.com-v1-crdview system:authenticated"}
	for _, file := range files {
		text, unreadable := os.ReadFile(file)
		err = errors.Join(err, unreadable)
		for _, found := range regexp.MustCompile(`'(kubectl [a-z]+(?: [a-z]+\b| --previous)?)`).FindAllStringSubmatch(string(text), -1) {
			commands = append(commands, "`"+found[1]+"`")
		}
	}
	if err != nil || len(commands) < 6 {
		t.Fatalf("the commands are %q: %v", commands, err)
	}
	for _, command := range commands {
		if !strings.Contains(string(page), command) {
			t.Errorf("docs/reference/console.md does not contain %s", command)
		}
	}
}

// copied returns the strings that a quick start's copy buttons copy: blocks of lines, and inline commands. It returns an error for each
// part that has no button, or has a button that copies different text. The console converts Markdown to HTML before it looks for blocks.
// Therefore, a block's lines must form a separate paragraph outside of any list.
//
// github.com/patternfly/patternfly-quickstarts, packages/module/src: ConsoleInternal/components/markdown-view.tsx;
// ConsoleShared/src/components/markdown-extensions/multiline-clipboard-extension.tsx, inline-clipboard-extension.tsx
func copied(markdown string) (blocks, commands []string, problems error) {
	add := func(problem string, what ...any) { problems = errors.Join(problems, fmt.Errorf(problem, what...)) }
	block := regexp.MustCompile("(?s)\n\n```\n(.+?\n)```{{copy}}")
	for _, found := range block.FindAllStringSubmatch("\n\n"+markdown, -1) {
		blocks = append(blocks, found[1])
		for line := range strings.Lines(found[1]) {
			if regexp.MustCompile(`^ {0,3}([-+*>#|]|\d+[.)]|=+\s*$)|[*_<\[\\]|^\s*$`).MatchString(line) {
				add("%q has a meaning in Markdown", line)
			}
		}
		if strings.HasPrefix(found[1], " ") {
			add("%q loses the indentation of its first line", found[1])
		}
	}
	for line := range strings.Lines(block.ReplaceAllString("\n\n"+markdown, "\n")) {
		command := regexp.MustCompile("^[^`]*`([^`]+)`{{copy}}[^`]*$").FindStringSubmatch(line)
		switch {
		case command != nil:
			commands = append(commands, command[1])
		case strings.Contains(line, "```") || strings.Contains(line, "{{copy}}"):
			add("%q is shown as text", line)
		}
	}
	return blocks, commands, problems
}

// pages returns the names of the console's pages, buttons, and fields. It also returns the menu paths with which the first step of a task
// may begin. Every page has the menu, but not every page has a project bar.
func pages() (words, begin []string) {
	menus := []string{"Ecosystem", "Operators", "Installed Operators", "Software Catalog", "+Add", "Operator Backed", "Topology", "Copy login command"}
	ofOperator := []string{"Echo Operator", "Echo", "Current namespace only", "Create Echo", "Name", "Create", "first"}
	ofEcho := []string{"Status", "Message", "Resources", "YAML", "Save", "Ingress", "Actions", "Delete Echo"}
	return slices.Concat(menus, ofOperator, ofEcho), []string{"Ecosystem > Installed Operators", "Copy login command"}
}

func TestQuickStart_namesPages(t *testing.T) {
	spec := quickStart(t)
	words, begin := pages()
	bold := regexp.MustCompile(`\*\*([^*]+)\*\*`)
	for _, text := range textsOf(spec) {
		for _, found := range bold.FindAllStringSubmatch(text, -1) {
			for word := range strings.SplitSeq(found[1], " > ") {
				if !slices.Contains(words, word) {
					t.Errorf("the console has no %q: %s", word, text)
				}
			}
		}
	}
	for _, task := range spec.Tasks {
		if first := bold.FindStringSubmatch(task.Description); first == nil || !slices.Contains(begin, first[1]) {
			t.Errorf("the task %q begins at %q instead of the menu", task.Title, first)
		}
		// The tab lists the Echoes of all namespaces, which a developer may not read.
		if strings.Contains(strings.ReplaceAll(task.Description, "the **Echo** tab, **Current namespace only**", ""), "**Echo** tab") {
			t.Errorf("the task %q opens the list of all Echoes", task.Title)
		}
	}
}
