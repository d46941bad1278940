package main

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	first := entry{Name: "echo-operator.v0.1.0", SkipRange: ">=0.0.1 <0.1.0"}
	second := entry{Name: "echo-operator.v0.2.0", Replaces: "echo-operator.v0.1.0", SkipRange: ">=0.0.1 <0.2.0"}
	alone := entry{Name: "echo-operator.v0.2.0", SkipRange: ">=0.0.1 <0.2.0"}
	candidate := func(entries ...entry) channel { return channel{"olm.channel", pkg, "candidate", entries} }
	stable := func(entries ...entry) channel { return channel{"olm.channel", pkg, "stable", entries} }
	for name, c := range map[string]struct {
		before     []channel
		unreleased string
		channels   []string
		after      []channel
	}{
		"after a release":       {[]channel{candidate(first)}, "", []string{"candidate"}, []channel{candidate(first, second)}},
		"instead of unreleased": {[]channel{candidate(first)}, "0.1.0", []string{"candidate"}, []channel{candidate(alone)}},
		"again":                 {[]channel{candidate(first, second)}, "", []string{"candidate"}, []channel{candidate(first, second)}},
		"in a new channel, too": {[]channel{candidate(first)}, "", []string{"candidate", "stable"},
			[]channel{candidate(first, second), stable(alone)}},
		"not in another channel": {[]channel{candidate(first), stable(first)}, "", []string{"candidate"},
			[]channel{candidate(first, second), stable(first)}},
		"an empty channel": {[]channel{candidate(first), stable(first)}, "0.1.0", []string{"candidate"}, []channel{candidate(alone)}},
	} {
		if got := open(c.before, "0.2.0", c.unreleased, c.channels); !reflect.DeepEqual(got, c.after) {
			t.Errorf("%s: %+v, want %+v", name, got, c.after)
		}
	}
}

// twoChannels contains a comment, which the program must preserve, and a version that only one channel contains.
const twoChannels = `# The channels.
---
schema: olm.channel
package: echo-operator
name: candidate
entries:
- name: echo-operator.v0.1.0
  skipRange: '>=0.0.1 <0.1.0'
- name: echo-operator.v0.2.0
  replaces: echo-operator.v0.1.0
  skips:
  - echo-operator.v0.1.1
  skipRange: '>=0.0.1 <0.2.0'
---
schema: olm.channel
package: echo-operator
name: stable
entries:
- name: echo-operator.v0.1.0
  skipRange: '>=0.0.1 <0.1.0'
`

// channels writes channels to a file and returns the file's path.
func channels(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "channels.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// printed runs the program and returns what it prints.
func printed(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = out
	failed := run(arguments)
	os.Stdout = stdout
	text, err := os.ReadFile(out.Name())
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	return string(text), failed
}

func TestCommandsThatPrint(t *testing.T) {
	file := channels(t, twoChannels)
	onlyCandidate := channels(t, strings.Split(twoChannels, "---\nschema: olm.channel\npackage: echo-operator\nname: stable")[0])
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"channels of a version of both": {[]string{"of", file, "0.1.0"}, "candidate\nstable\n"},
		"channels of a version of one":  {[]string{"of", file, "0.2.0"}, "candidate\n"},
		"channels of another version":   {[]string{"of", file, "0.2"}, ""},
		"default":                       {[]string{"default", file}, "stable\n"},
		"default before stable":         {[]string{"default", onlyCandidate}, "candidate\n"},
		"configuration of a release": {[]string{"release-config", file, "0.2.0"},
			"---\ncatalog_templates:\n- template_name: basic.yaml\n  channels:\n  - candidate\n" +
				"  replaces: echo-operator.v0.1.0\n  skips:\n  - echo-operator.v0.1.1\n  skipRange: '>=0.0.1 <0.2.0'\n"},
		"configuration of the first release": {[]string{"release-config", file, "0.1.0"}, "---\ncatalog_templates:\n" +
			"- template_name: basic.yaml\n  channels:\n  - candidate\n  skipRange: '>=0.0.1 <0.1.0'\n" +
			"- template_name: basic.yaml\n  channels:\n  - stable\n  skipRange: '>=0.0.1 <0.1.0'\n"},
	} {
		if got, err := printed(t, c.arguments...); err != nil || got != c.want {
			t.Errorf("%s: printed\n%s(%v), want\n%s", name, got, err, c.want)
		}
	}
}

func TestOpenRewritesTheFile(t *testing.T) {
	const third = "- name: echo-operator.v0.3.0\n  replaces: echo-operator.v0.2.0\n  skipRange: '>=0.0.1 <0.3.0'\n"
	const alone = "- name: echo-operator.v0.3.0\n  replaces: echo-operator.v0.1.0\n  skipRange: '>=0.0.1 <0.3.0'\n"
	head, stable, _ := strings.Cut(twoChannels, "---\nschema: olm.channel\npackage: echo-operator\nname: stable")
	stable = "---\nschema: olm.channel\npackage: echo-operator\nname: stable" + stable
	unreleased, _, _ := strings.Cut(head, "- name: echo-operator.v0.2.0")
	for name, c := range map[string]struct {
		arguments []string
		want      string
	}{
		"one channel":                    {[]string{"0.3.0", "", "candidate"}, head + third + stable},
		"a version that is already open": {[]string{"0.2.0", "", "candidate"}, twoChannels},
		"without an unreleased version":  {[]string{"0.3.0", "0.2.0", "candidate"}, unreleased + alone + stable},
		"two channels":                   {[]string{"0.3.0", "", "candidate", "stable"}, head + third + stable + alone},
	} {
		file := channels(t, twoChannels)
		if _, err := printed(t, append([]string{"open", file}, c.arguments...)...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
			t.Errorf("%s: the file is\n%s(%v), want\n%s", name, got, err, c.want)
		}
	}
}

func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct{ arguments, want string }{
		"no command":              {"", "usage: channels"},
		"no file":                 {"default", "usage: channels"},
		"a missing file":          {"default absent.yaml", "absent.yaml"},
		"another command":         {"close FILE", `unknown command "close"`},
		"no version":              {"of FILE", `unknown command "of"`},
		"two versions":            {"of FILE 0.1.0 0.2.0", `unknown command "of"`},
		"one argument too many":   {"default FILE 0.1.0", `unknown command "default"`},
		"no channel to open":      {"open FILE 0.3.0 0.2.0", `unknown command "open"`},
		"an unknown version":      {"release-config FILE 0.3.0", "no channel has version 0.3.0"},
		"no version of a release": {"release-config FILE", `unknown command "release-config"`},
	} {
		file := channels(t, twoChannels)
		got, err := printed(t, strings.Fields(strings.ReplaceAll(c.arguments, "FILE", file))...)
		if err == nil || !strings.Contains(err.Error(), c.want) || got != "" {
			t.Errorf("%s: printed %q, %v, want %q", name, got, err, c.want)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != twoChannels {
			t.Errorf("%s: the file became\n%s(%v)", name, after, err)
		}
	}
	for name, content := range map[string]string{"no YAML": "a: [\n", "entries that are not a list": "name: candidate\nentries: none\n"} {
		file := channels(t, content)
		if _, err := printed(t, "default", file); err == nil || !strings.HasPrefix(err.Error(), file+": ") {
			t.Errorf("%s: %v, want the file's name", name, err)
		}
	}
}
