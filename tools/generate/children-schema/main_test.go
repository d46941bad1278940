package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const schema = `types:
- name: a
  map:
    fields:
    - name: b
      type:
        namedType: b
    - name: a
      type:
        namedType: a
- name: b
  scalar: string
- name: c
  list:
    elementType:
      namedType: b
    elementRelationship: atomic
`

func TestPartOf(t *testing.T) {
	for name, c := range map[string]struct {
		types []string
		want  string
	}{
		"with the types that it refers to": {[]string{"a"}, strings.Split(schema, "- name: c")[0]},
		"without references":               {[]string{"b"}, "types:\n- name: b\n  scalar: string\n"},
		"several, in another order":        {[]string{"c", "a"}, schema},
	} {
		if got, err := partOf(schema, c.types); err != nil || got != c.want {
			t.Errorf("a type %s: %v\n%s", name, err, got)
		}
	}
	if _, err := partOf(schema, []string{"d"}); err == nil || !strings.Contains(err.Error(), "d") {
		t.Errorf("a type that does not exist: %v", err)
	}
	if _, err := partOf("kinds: []", []string{"a"}); err == nil {
		t.Error("a schema without types is accepted")
	}
}

func TestSchemaIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(path, []byte("package a\nvar (\n\ta = \"short\"\n\tschema = T(`"+schema+"`)\n)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := schemaIn(path); err != nil || got != schema {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := schemaIn(path + "x"); err == nil {
		t.Error("a file that does not exist is accepted")
	}
}
