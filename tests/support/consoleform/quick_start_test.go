package consoleform

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	consolev1 "github.com/openshift/api/console/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/openshift"
)

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

// TestQuickStart_canBeCopied checks the strings that users can copy. Each block must be the complete or partial YAML of an Echo, and each
// command must send a request to the first task's Echo.
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
	if diff := cmp.Diff([]string{"curl -s http://first", "curl -si http://first"}, allCommands); diff != "" || len(allBlocks) != 1 {
		t.Errorf("there are %d blocks; commands: %s", len(allBlocks), diff)
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
	menus := []string{"Ecosystem", "Operators", "Installed Operators", "Workloads", "Pods"}
	ofPod, ofOperator := []string{"Terminal"}, []string{"Echo Operator", "Echo", "Create Echo", "Name", "Create", "first"}
	ofEcho := []string{"Status", "Message", "Resources", "YAML", "Save", "Ingress", "Actions", "Delete Echo"}
	return slices.Concat(menus, ofPod, ofOperator, ofEcho), []string{"Ecosystem > Installed Operators", "Workloads > Pods"}
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
	}
}
