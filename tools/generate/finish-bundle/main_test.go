package main

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// examples have the format that operator-sdk writes.
const examples = `[
  {
    "apiVersion": "example.com/v1",
    "kind": "Echo",
    "spec": {
      "replicas": 1
    }
  },
  {
    "apiVersion": "example.com/v1",
    "kind": "Echo",
    "spec": {
      "cost": 12345678901234567890,
      "replicas": 2
    }
  }
]`

// finished contains the examples after the program has added a status to all but the first.
const finished = `[
  {
    "apiVersion": "example.com/v1",
    "kind": "Echo",
    "spec": {
      "replicas": 1
    }
  },
  {
    "apiVersion": "example.com/v1",
    "kind": "Echo",
    "spec": {
      "cost": 12345678901234567890,
      "replicas": 2
    },
    "status": {
      "phase": "Ready",
      "readyReplicas": 2,
      "replicas": 2,
      "updatedReplicas": 2
    }
  }
]`

// csvWith returns a ClusterServiceVersion with examples.
func csvWith(examples string) string {
	return "kind: ClusterServiceVersion\nmetadata:\n  annotations:\n    alm-examples: |-\n      " + strings.ReplaceAll(examples, "\n",
		"\n      ") +
		"\n    createdAt: \"2030-01-01T00:00:00Z\"\n  name: echo-operator.v0.1.0\nspec:\n  customresourcedefinitions:\n    owned: []\n  " +
		"displayName: Echo\n  icon:\n  - base64data: \"\"\n    mediatype: \"\"\n"
}

const base = "kind: ClusterServiceVersion\nmetadata:\n  annotations:\n    createdAt: \"2026-01-02T03:04:05Z\"\nspec:\n  " +
	"displayName: not this\n"

// project changes to a directory that contains all files that the program reads. The given files replace these files. If a replacement is
// empty, the file is removed.
func project(t *testing.T, replaced map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	files := map[string]string{
		"csv.yaml": csvWith(examples), "base.yaml": base, "icon.svg": "<svg/>", "descriptors.yaml": "[]\n",
		"bundle/metadata/annotations.yaml": "annotations:\n  # a comment\n  a: b\n", "bundle.Dockerfile": "FROM scratch\n\nLABEL a=b\n",
	}
	maps.Copy(files, replaced)
	for name, content := range files {
		if content == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func contentOf(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestFinish(t *testing.T) {
	project(t, nil)
	if err := run("csv.yaml", "base.yaml", "icon.svg", "descriptors.yaml", "v4.17"); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("2030-01-01T00:00:00Z", "2026-01-02T03:04:05Z", "mediatype: \"\"", "mediatype: image/svg+xml",
		"base64data: \"\"", "base64data: "+base64.StdEncoding.EncodeToString([]byte("<svg/>"))).Replace(csvWith(finished))
	for file, want := range map[string]string{
		"csv.yaml":                         want,
		"bundle/metadata/annotations.yaml": "annotations:\n  # a comment\n  a: b\n  com.redhat.openshift.versions: v4.17\n",
		"bundle.Dockerfile":                "FROM scratch\n\nLABEL com.redhat.openshift.versions=v4.17\n\nLABEL a=b\n",
		"base.yaml":                        base,
	} {
		if got := contentOf(t, file); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", file, got, want)
		}
	}
}

func TestFinishFails(t *testing.T) {
	for name, c := range map[string]struct{ file, content, want string }{
		"no CSV":                       {"csv.yaml", "", "csv.yaml"},
		"no base":                      {"base.yaml", "", "base.yaml"},
		"base without a date":          {"base.yaml", "kind: ClusterServiceVersion\n", "base.yaml has no annotation createdAt"},
		"no icon":                      {"icon.svg", "", "icon.svg"},
		"no descriptors":               {"descriptors.yaml", "", "descriptors.yaml"},
		"no annotations":               {"bundle/metadata/annotations.yaml", "", "annotations.yaml"},
		"no Dockerfile":                {"bundle.Dockerfile", "", "bundle.Dockerfile"},
		"Dockerfile from another base": {"bundle.Dockerfile", "FROM alpine\n", `does not begin with "FROM scratch\n"`},
		"examples that are no JSON":    {"csv.yaml", csvWith("[\n{"), "csv.yaml: alm-examples: unexpected EOF"},
		"examples that would change":   {"csv.yaml", csvWith("[{}]"), "decoding and encoding alm-examples changes it"},
		"examples with HTML": {"csv.yaml", csvWith("[\n  {\n    \"a\": \"<\"\n  }\n]"),
			"decoding and encoding alm-examples changes it"},
	} {
		t.Run(name, func(t *testing.T) {
			project(t, map[string]string{c.file: c.content})
			if err := run("csv.yaml", "base.yaml", "icon.svg", "descriptors.yaml", "v4.17"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestStatusesOfExamples(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"no example":       {"[]", "[]"},
		"one example":      {"[\n  {\n    \"spec\": {\n      \"replicas\": 3\n    }\n  }\n]", "\"replicas\": 3\n    }\n  }\n]"},
		"without replicas": {"[\n  {},\n  {\n    \"spec\": {}\n  }\n]", "\"readyReplicas\": null"},
		"without a spec":   {"[\n  {},\n  {\n    \"kind\": \"Echo\"\n  }\n]", "\"phase\": \"Ready\""},
		"with another status": {
			"[\n  {},\n  {\n    \"spec\": {\n      \"replicas\": 3\n    },\n    \"status\": {\n      \"phase\": \"Pending\"\n    }\n  }\n]",
			"\"status\": {\n      \"phase\": \"Ready\",\n      \"readyReplicas\": 3,\n"},
		"two examples": {
			"[\n  {\n    \"spec\": {\n      \"replicas\": 3\n    }\n  },\n  {\n    \"spec\": {\n      \"replicas\": 4\n    }\n  }\n]",
			"\"updatedReplicas\": 4\n"},
	} {
		csv, err := yaml.Parse(csvWith(c.before))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := addStatuses(csv); err != nil || !strings.Contains(csv.GetAnnotations()["alm-examples"], c.after) {
			t.Errorf("%s: %v, got %s, want %s", name, err, csv.GetAnnotations()["alm-examples"], c.after)
		}
	}
}

// TestAddRelatedImage checks that the same image produces the same bundle each time.
func TestAddRelatedImage(t *testing.T) {
	const before = "spec:\n  relatedImages:\n  - image: a@sha256:1\n    name: a\n"
	for range 20 {
		csv := yaml.MustParse(before)
		if _, err := csv.Pipe(addRelatedImage("b", "b@sha256:2")); err != nil {
			t.Fatal(err)
		}
		if got, want := csv.MustString(), before+"  - image: b@sha256:2\n    name: b\n"; got != want {
			t.Fatalf("got\n%swant\n%s", got, want)
		}
	}
}
