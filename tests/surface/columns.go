package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// column contains all names of one type.
type column struct {
	title string
	names []name
}

// rule finds names in files. By default, text is the matched text, page is the file itself, and end is the name.
type rule struct {
	// files contains the Git pathspecs of the files to read.
	files string
	// expression is a regular expression. Its group matches the part of the text that forms a name.
	expression string
	// text is the name, page is the page that documents it, and end is the spelling there. In all three, $1 stands for the group's match.
	text, page, end string
}

const (
	variable = `"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"`
	ofPods   = `"(ECHO_(?:POD|NODE|HOST|SERVICE|INGRESS)_(?:NAME|NAMESPACE|IP|PORTS))"`
	reason   = `(?:Normal|Warning)Reason = "(\w+)"`
	value    = `(?m)^\| ([a-zA-Z.]+) \| (?:bool|int|list|object|string) \|`
	target   = `(?m)^([a-z0-9][a-z0-9-]*):.*## `
	option   = `(?m)^\t+\{"([a-z-]+)", `
)

// rules returns the rules for each column.
func rules() []struct {
	title string
	rules []rule
} {
	return []struct {
		title string
		rules []rule
	}{
		{"Flags", []rule{
			{"internal/operator/options.go", `(?:flags\.\w+Var\(&[\w.]+|\{&[\w.]+), "([a-z-]+)"`, "manager --$1", "docs/reference/configuration.md", "--$1"},
			{"internal/watch/watch.go", `flags\.\w+\(&[\w.]+, "([a-z-]+)"`, "manager watch --$1", "docs/reference/commands.md", "--$1"},
			{"echoserver/server/*settings.go", option, "echo-server --$1", "docs/reference/echo-server.md", "--$1"},
			{"pathcheck/*.go cmd/pathcheck/*.go", `flags\.\w+\((?:&[\w.]+, )?"([a-z-]+)"`, "pathcheck --$1", "docs/reference/pathcheck.md", "--$1"},
			{"internal/kubectlecho/*.go", `Flags\(\)\.\w+\(&\w+, "([a-z-]+)"`, "kubectl echo --$1", "docs/reference/kubectl-echo.md", "--$1"},
			{"internal/mustgather/*.go", `flags\.\w+\(&[\w.]+, "([a-z-]+)"`, "must-gather --$1", "docs/reference/must-gather.md", "--$1"},
		}},
		{"Environment variables", []rule{
			{"main.go internal/operator/*.go internal/telemetry/*.go", variable, "", "docs/reference/configuration.md", ""},
			{"echoserver/server/*settings.go", option, "ECHO_$1", "docs/reference/echo-server.md", ""},
			{"echoserver/describe/client.go echoserver/server/settings.go", ofPods, "", "docs/reference/echo-server.md", ""},
			{"internal/mustgather/*.go pathcheck/*.go cmd/pathcheck/*.go", variable, "", "docs/reference/must-gather.md", ""},
			{"cmd/scorecard/*.go internal/scorecard/*.go", variable, "", "CONTRIBUTING.md", ""},
		}},
		{"Controls of the echo server",
			[]rule{{"echoserver/controls/table.go", `name: "([a-z-]+)", set:`, "echo.$1", "docs/reference/echo-server.md", "$1"}}},
		{"Headers of the echo server",
			[]rule{{"echoserver/*/*.go internal/proof/*.go", `"((?:X-)?Echo-[A-Z][A-Za-z-]*[a-z])"`, "", "docs/reference/echo-server.md", ""}}},
		{"Metrics", []rule{
			{"echoserver/server/*metrics.go", `"(echo_[a-z_]+)"`, "", "docs/reference/echo-server.md", ""},
			{"internal/telemetry/*.go", `prefix ?\+ ?"([a-z_]+)"`, "echo_operator_$1", "docs/reference/metrics.md", ""},
			{"internal/telemetry/*.go", `describe\("([a-z_]+)"`, "echo_operator_$1", "docs/reference/metrics.md", ""},
		}},
		{"Alerts", []rule{{"internal/telemetry/alerts.yaml", `- alert: (\w+)`, "", "docs/runbooks/$1.md", ""}}},
		{"Reasons of conditions and events", []rule{{"api/v1/*.go", reason, "", "docs/reference/echo.md", ""}}},
		{"Facts of pathcheck",
			[]rule{{"pathcheck/internal/probe/facts.yaml", `(?m)^- fact: (\S+)$`, "", "docs/reference/pathcheck.md", ""},
				{"pathcheck/internal/probe/address.go", `"(Forwarded|[A-Z][A-Za-z]*(?:-[A-Za-z0-9]+)+)"`, "client.spoofable[$1]",
					"docs/reference/pathcheck.md", "`$1`"}}},
		{"Images", []rule{{"tools/make/image", `(?m)^\t(echo-[a-z-]+)\)$`, "", "docs/contributing/releasing.md", ""}}},
		{"Values of the chart", []rule{{"charts/echo-operator/README.md", value, "", "", ""}}},
		{"Modules", []rule{{"go.mod */go.mod", "", "", "$1", "// "}}},
		{"Targets of make", []rule{
			{"Makefile", target, "", "Makefile", "$1:"},
			{"tools/make/*.mk", target, "", "", "$1:"},
		}},
	}
}

// read returns all columns for a source tree. The names in each column are sorted and unique.
func read(ctx context.Context, root string) ([]column, error) {
	fields, err := fields(root)
	if err != nil {
		return nil, err
	}
	all := []column{{"Fields of an Echo", fields}}
	for _, c := range rules() {
		var names []name
		for _, r := range c.rules {
			found, err := r.read(ctx, root)
			if err != nil {
				return nil, err
			}
			names = append(names, found...)
		}
		slices.SortFunc(names, func(a, b name) int { return cmp.Compare(a.text, b.text) })
		names = slices.CompactFunc(names, func(a, b name) bool { return a.text == b.text })
		all = append(all, column{c.title, names})
	}
	return all, nil
}

// read returns the names in a rule's files. Test files are excluded. If the rule has no expression, each file name is used as a name.
func (r rule) read(ctx context.Context, root string) ([]name, error) {
	list, err := exec.CommandContext(ctx, "git", append([]string{"-C", root, "ls-files", "--", ":!*_test.go"},
		strings.Fields(r.files)...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("%s must be a checkout of git: %s", root, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return nil, err
	}
	var names []name
	for file := range strings.FieldsSeq(string(list)) {
		if r.expression == "" {
			names = append(names, r.name(file, file))
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return nil, err
		}
		for _, found := range regexp.MustCompile(r.expression).FindAllSubmatch(content, -1) {
			names = append(names, r.name(string(found[1]), file))
		}
	}
	return names, nil
}

// name forms a name from a match of the rule's expression in a file.
func (r rule) name(matched, file string) name {
	with := func(format, otherwise string) string {
		return strings.ReplaceAll(cmp.Or(format, otherwise), "$1", matched)
	}
	text := with(r.text, matched)
	if variable, ok := strings.CutPrefix(text, "ECHO_"); ok { // the echo server derives the variable's name from the flag's name
		text = "ECHO_" + strings.ToUpper(strings.ReplaceAll(variable, "-", "_"))
	}
	return name{text, with(r.page, file), with(r.end, text)}
}

// fields returns the fields of an Echo that have no subfields, such as spec.checks[].name. Subfields of Kubernetes' own types are omitted,
// because Kubernetes documents them. The arguments of `manifests crd` in the Makefile are the fields with these types.
func fields(root string) ([]name, error) {
	text, err := os.ReadFile(filepath.Join(root, "config/crd/bases/example.com_echoes.yaml"))
	if err != nil {
		return nil, err
	}
	crd := apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return nil, err
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	ofKubernetes := regexp.MustCompile(`\b(spec|status)\.[\w.]+`).FindAllString(string(makefile), -1)
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	return append(leaves("spec", schema["spec"], ofKubernetes), leaves("status", schema["status"], ofKubernetes)...), nil
}

// leaves returns the leaf fields in the schema of the field at a path.
func leaves(path string, schema apiextensionsv1.JSONSchemaProps, ofKubernetes []string) []name {
	if schema.Items != nil {
		return leaves(path+"[]", *schema.Items.Schema, ofKubernetes)
	}
	var all []name
	if !slices.Contains(ofKubernetes, strings.ReplaceAll(path, "[]", "")) {
		for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
			all = append(all, leaves(path+"."+field, schema.Properties[field], ofKubernetes)...)
		}
	}
	if len(all) == 0 {
		last := strings.TrimSuffix(path[strings.LastIndex(path, ".")+1:], "[]")
		return []name{{path, "docs/reference/api.md", "`" + last + "`"}}
	}
	return all
}
