package consoleform

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Owned returns the objects that an owner's Resources tab lists. The console processes each kind once, in order.
//
// operator-lifecycle-manager/src/components/k8s-resource.tsx: flattenCsvResources
func Owned(owner types.UID, kinds []string, objects map[string][]metav1.Object) []metav1.Object {
	var owned []metav1.Object
	owns := func(ref metav1.OwnerReference) bool {
		return ref.UID == owner || slices.ContainsFunc(owned, func(o metav1.Object) bool { return o.GetUID() == ref.UID })
	}
	for _, kind := range kinds {
		for _, object := range objects[kind] {
			if slices.ContainsFunc(object.GetOwnerReferences(), owns) {
				owned = append(owned, object)
			}
		}
	}
	return owned
}

// Copied returns the strings that a quick start's copy buttons copy: blocks of lines, and inline commands. It returns an error for each
// part that has no button, or has a button that copies different text. The console converts Markdown to HTML before it looks for blocks.
// Therefore, a block's lines must form a separate paragraph outside of any list.
//
// github.com/patternfly/patternfly-quickstarts, packages/module/src: ConsoleInternal/components/markdown-view.tsx;
// ConsoleShared/src/components/markdown-extensions/multiline-clipboard-extension.tsx, inline-clipboard-extension.tsx
func Copied(markdown string) (blocks, commands []string, problems error) {
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
