package main

import (
	"io"
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

func TestRun_prints(t *testing.T) {
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
		var got strings.Builder
		if err := run(&got, c.arguments); err != nil || got.String() != c.want {
			t.Errorf("%s: printed\n%s(%v), want\n%s", name, &got, err, c.want)
		}
	}
	if err := run(io.Discard, []string{"release-config", file, "0.3.0"}); err == nil {
		t.Error("a version of no channel is accepted")
	}
}

// TestOpen_rewritesTheFile checks that the comment and the other channel stay.
func TestOpen_rewritesTheFile(t *testing.T) {
	file := channels(t, twoChannels)
	if err := run(io.Discard, []string{"open", file, "0.3.0", "", "candidate"}); err != nil {
		t.Error(err)
	}
	const third = "- name: echo-operator.v0.3.0\n  replaces: echo-operator.v0.2.0\n  skipRange: '>=0.0.1 <0.3.0'\n---\n"
	want := strings.Replace(twoChannels, "skipRange: '>=0.0.1 <0.2.0'\n---\n", "skipRange: '>=0.0.1 <0.2.0'\n"+third, 1)
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("the file is\n%s(%v), want\n%s", got, err, want)
	}
}
