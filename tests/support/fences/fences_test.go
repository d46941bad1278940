package fences

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "# Page\n\n## One\n\nFirst:\n\n```sh\na \\\n  b\n```\n\n```text\nout\n```\n\n" +
	"1. In a list:\n\n   <!-- not run: internet -->\n   ```sh\n   c\n     d\n   ```\n\n" +
	"## Two\n\n```yaml\nx: y\n```\n\n```text\n$ e \\\n  f\nshown\n$ g\n```\n"

func TestParse(t *testing.T) {
	want := []Fence{{7, "sh", "a \\\n  b\n", ""}, {12, "text", "out\n", ""}, {19, "sh", "c\n  d\n", "internet"}, {26, "yaml", "x: y\n", ""},
		{30, "text", "$ e \\\n  f\nshown\n$ g\n", ""}}
	all := Parse(page)
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	for i, has := range []bool{true, false, true, false, true} {
		if all[i].HasCommands() != has {
			t.Errorf("HasCommands of %+v is %t", all[i], !has)
		}
	}
}

func TestSteps(t *testing.T) {
	want := []Step{{"a \\\n  b\n", "out\n"}, {"e \\\n  f\n", "shown"}, {"g\n", ""}}
	if diff := cmp.Diff(want, Steps(Parse(page))); diff != "" {
		t.Error(diff)
	}
}

func TestAfter_andSection(t *testing.T) {
	for name, test := range map[string]struct {
		got  []Fence
		want []int
	}{
		"a heading":                      {After(page, "## One"), []int{7}},
		"words":                          {After(page, "In a list"), []int{19}},
		"without commands":               {After(page, "## Two"), []int{30}},
		"words that are not on the page": {After(page, "Three"), nil},
		"the first section":              {Section(page, "## One"), []int{7, 12, 19}},
		"the last section":               {Section(page, "## Two"), []int{26, 30}},
		"no section":                     {Section(page, "## Three"), nil},
	} {
		var lines []int
		for _, f := range test.got {
			lines = append(lines, f.Line)
		}
		if diff := cmp.Diff(test.want, lines); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMissing(t *testing.T) {
	const output = "web-abcdefgh-12345  200 OK  17ms\n \"address\": \"10.0.0.1\"\nNAME   AGE\nCannot be pulled: x y. Check it.\n"
	for shown, want := range map[string]string{
		"web-5d9c7f6b8-4xkqz  200 OK  9ms\n":         "",
		"web-5d9c7f6b8-4xkqz  503 OK  9ms\n":         "web-5d9c7f6b8-4xkqz  503 OK  9ms",
		"...\n  \"address\": \"10.244.0.9\",\n...\n": "",
		"NAME     AGE\nCannot ... Check it.\n":       "",
		"NAME\n":                                     "NAME",
	} {
		if got := (&Step{Output: shown}).Missing(output); got != want {
			t.Errorf("%q misses %q, want %q", shown, got, want)
		}
	}
}
