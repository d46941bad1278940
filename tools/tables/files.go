package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/echo-operator/echo-operator/internal/children/desired"
	"github.com/echo-operator/echo-operator/pathcheck"
)

// errNoPlace says that a file lacks what a table is written to.
var errNoPlace = errors.New("there is no place for what follows from a table")

// edit returns a file with what follows from a table. What else is in the file stays.
type edit func(file string) (string, error)

// edits returns the edits of all files that are generated, or that have a part that is.
func edits() map[string]edit {
	kinds := desired.Table()
	groups, _ := pathcheck.GroupNames()
	return map[string]edit{
		"internal/kinds/zz_generated.kinds.go":        func(string) (string, error) { return tableOf(kinds), nil },
		"controllers/zz_generated.rights.go":          func(string) (string, error) { return rightsOn(kinds), nil },
		"api/v1/echo_types.go":                        func(file string) (string, error) { return withResources(file, kinds) },
		"api/v1/echo_check.go":                        func(file string) (string, error) { return withGroups(file, groups) },
		"config/manifests/list_item_descriptors.yaml": func(file string) (string, error) { return withChoices(file, groups) },
	}
}

// writeFiles makes the edits of the files below a root.
func writeFiles(root string) error {
	for name, edit := range edits() {
		path := filepath.Join(root, name)
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		after, err := edit(string(before))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if after == string(before) {
			continue
		}
		if err := os.WriteFile(path, []byte(after), 0o600); err != nil { // the mode of a file that exists stays
			return err
		}
	}
	return nil
}

// replaced returns a text with another match of an expression, which must have one.
func replaced(text string, expression *regexp.Regexp, with func(match string) string) (string, error) {
	place := expression.FindStringIndex(text)
	if place == nil {
		return "", fmt.Errorf("%w: %s", errNoPlace, expression)
	}
	return text[:place[0]] + with(text[place[0]:place[1]]) + text[place[1]:], nil
}

// withResources adds the kinds that are missing to those that the OpenShift console shows of an Echo. The order is that in which it shows them.
func withResources(file string, kinds []desired.Kind) (string, error) {
	const last = "{Event,"
	return replaced(file, regexp.MustCompile(`resources=\{\{.*`+regexp.QuoteMeta(last)), func(listed string) string {
		missing := slices.DeleteFunc(slices.Clone(kinds), func(k desired.Kind) bool { return strings.Contains(listed, "{"+k.Kind+",") })
		for _, k := range missing {
			listed = strings.TrimSuffix(listed, last) + fmt.Sprintf("{%s,%s,%q},", k.Kind, k.Version, k.Resource().GroupResource()) + last
		}
		return listed
	})
}

// withGroups sets which groups a check can name.
func withGroups(file string, groups []string) (string, error) {
	const maximum, enum = "\t// +kubebuilder:validation:MaxItems=", "\t// +kubebuilder:validation:items:Enum="
	markers := regexp.MustCompile(regexp.QuoteMeta(maximum) + `\d+\n` + regexp.QuoteMeta(enum) + `\S+`)
	return replaced(file, markers, func(string) string {
		return fmt.Sprintf("%s%d\n%s%s", maximum, len(groups), enum, strings.Join(groups, ";"))
	})
}

// withChoices sets which groups the form of the OpenShift console offers.
func withChoices(file string, groups []string) (string, error) {
	const item = "  - urn:alm:descriptor:com.tectonic.ui:select:"
	choices := regexp.MustCompile(`(?m)^- path: checks\[0\]\.groups\[0\]\n(?:  \w.*\n)+(?:` + regexp.QuoteMeta(item) + `.*\n)+`)
	return replaced(file, choices, func(descriptor string) string {
		head, _, _ := strings.Cut(descriptor, item)
		return head + item + strings.Join(groups, "\n"+item) + "\n"
	})
}
