package main

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const described = `spec:
  customresourcedefinitions:
    owned:
    - kind: Echo
      resources:
      - kind: CronJob
      - kind: Deployment
      - kind: Ingress
      - kind: Job
      - kind: Pod
      - kind: ReplicaSet
      - kind: Service
      specDescriptors:
      - description: replicas is the number of pods.
        path: replicas
      - description: headers are added.
        path: response.headers
      - description: name is the name.
        path: response.headers[0].name
      - description: Kept as it is.
        path: response.body
      - description: names are what is listed.
        path: lists[0].names
      - description: Last.
        path: lists[0].last
      statusDescriptors:
      - description: url is where it is.
        path: url
`

const more = `
- path: response.headers[0].value
  description: The value.
- path: replicas[0]
  description: One.
- path: lists[0].names[0]
  description: A name.
`

const wanted = `spec:
  customresourcedefinitions:
    owned:
    - kind: Echo
      resources:
      - kind: Deployment
      - kind: ReplicaSet
      - kind: CronJob
      - kind: Job
      - kind: Pod
      - kind: Ingress
      - kind: Service
      specDescriptors:
      - description: The number of pods.
        path: replicas
      - path: replicas[0]
        description: One.
      - description: Added.
        path: response.headers
      - description: The name.
        path: response.headers[0].name
      - path: response.headers[0].value
        description: The value.
      - description: Kept as it is.
        path: response.body
      - description: What is listed.
        path: lists[0].names
      - path: lists[0].names[0]
        description: A name.
      - description: Last.
        path: lists[0].last
      statusDescriptors:
      - description: Where it is.
        path: url
`

func parsed(t *testing.T, text string) *yaml.RNode {
	t.Helper()
	node, err := yaml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func TestDescribe(t *testing.T) {
	csv := parsed(t, described)
	if err := describe(csv, parsed(t, more)); err != nil {
		t.Fatal(err)
	}
	if got, err := csv.String(); err != nil || got != wanted {
		t.Errorf("%v, got\n%s", err, got)
	}
}

func TestDescribeFails(t *testing.T) {
	for csv, want := range map[string]string{described: "no descriptor describes other", "spec: {}": "no kind is owned"} {
		if err := describe(parsed(t, csv), parsed(t, "- path: other[0].name")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestWithNames(t *testing.T) {
	names := map[string]string{"list[0].maxDelay": `"Longest delay"`, "tls.port": `"HTTPS port"`, "status.url": `the status "URL"`, "name": `"Name"`}
	for before, after := range map[string]string{
		"At most maxDelay.":             `At most "Longest delay".`,
		"Listens on tls.port.":          `Listens on "HTTPS port".`,
		"Defaults to status.url.":       `Defaults to the status "URL".`,
		"The name of podLabels.":        "The name of podLabels.",
		"Of type kubernetes.io/tls, 1.": "Of type kubernetes.io/tls, 1.",
	} {
		if got := withNames(before, "list[0].", names); got != after {
			t.Errorf("%q became %q, want %q", before, got, after)
		}
	}
}

func TestAddNames(t *testing.T) {
	names := map[string]string{}
	addNames(names, parsed(t, "[{path: a, displayName: A}, {path: b, displayName: B, x-descriptors: ['urn:alm:descriptor:com.tectonic.ui:hidden']}]"),
		"status.", "the status %q")
	if want := `map[status.a:the status "A"]`; fmt.Sprint(names) != want {
		t.Errorf("got %v, want %s", names, want)
	}
}

func TestReadable(t *testing.T) {
	for before, after := range map[string]string{
		"a is b.":                 "B.",
		"a are b.":                "B.",
		"a specifies whether.":    "Whether.",
		"a says what is going on": "Says what is going on",
		"a is is.":                "Is.",
		"ab is c.":                "ab is c.",
		"Text.":                   "Text.",
		"":                        "",
	} {
		if got := readable("a", before); got != after {
			t.Errorf("%q became %q, want %q", before, got, after)
		}
	}
}
