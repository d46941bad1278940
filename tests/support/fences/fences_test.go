package fences

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "# Page\n\n## One\n\nFirst:\n\n```sh\na \\\n  b\n```\n\n```text\nout\n```\n\n" +
	"1. In a list:\n\n   <!-- not run: internet -->\n   ```sh\n   c\n     d\n   ```\n\n" +
	"## Two\n\n```yaml\nx: y\n```\n\n```text\n$ e \\\n  f\nshown\n$ g\n```\n"

func TestSteps(t *testing.T) {
	want := []Step{{"a \\\n  b\n", "out\n"}, {"e \\\n  f\n", "shown"}, {"g\n", ""}}
	if diff := cmp.Diff(want, Steps(Parse(page))); diff != "" {
		t.Error(diff)
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
