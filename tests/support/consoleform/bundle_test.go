package consoleform

import (
	"errors"
	"fmt"
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
	want := []string{"checks[0].groups[0]", "checks[0].expect[0].fact", "checks[0].expect[0].operator", "checks[0].expect[0].values",
		"checks[0].expect[0].values[0]"}
	if !slices.Equal(missing, want) {
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

func TestCopied(t *testing.T) {
	const block = "```\nspec:\n  replicas: 2\n```{{copy}}"
	for name, c := range map[string]struct {
		markdown         string
		blocks, commands int
		problem          string
	}{
		"a block":                    {"1. Paste:\n\n" + block + "\n\nThen save.", 1, 0, ""},
		"a command":                  {"Run `curl -s http://x`{{copy}}.", 0, 1, ""},
		"code without a button":      {"Set `spec` to `x`.", 0, 0, ""},
		"no button":                  {"```\nspec: {}\n```", 0, 0, "shown as text"},
		"in the paragraph of a list": {"1. Paste:\n" + block, 0, 0, "shown as text"},
		"an indented first line":     {"```\n  spec: {}\n```{{copy}}", 1, 0, "loses the indentation"},
		"an item of a list":          {"```\nenv:\n- name: x\n```{{copy}}", 1, 0, `"- name: x\n" has a meaning`},
		"emphasis":                   {"```\na: b*c*\n```{{copy}}", 1, 0, "has a meaning"},
	} {
		blocks, commands, err := copied(c.markdown)
		if len(blocks) != c.blocks || len(commands) != c.commands || (err == nil) != (c.problem == "") ||
			err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%s: %q, %q, %v", name, blocks, commands, err)
		}
	}
	if blocks, _, _ := copied(block); blocks[0] != "spec:\n  replicas: 2\n" {
		t.Errorf("the block is %q", blocks[0])
	}
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
