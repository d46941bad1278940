package bundle

import (
	"testing"

	"sigs.k8s.io/yaml"
)

const nested = `
type: object
properties:
  spec:
    type: object
    properties:
      name: {type: string, enum: [A, B]}
      "[0]": {type: boolean}
      list:
        type: array
        items:
          type: object
          properties:
            port: {type: integer}
            deeper: {type: array, items: {type: array, items: {type: number}}}
      map: {type: object, additionalProperties: {type: string}}
`

func TestAt(t *testing.T) {
	var schema Schema
	if err := yaml.Unmarshal([]byte(nested), &schema); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"spec":                        "object",
		"spec.name":                   "string",
		"spec.list":                   "array",
		"spec.list[0]":                "object",
		"spec.list[0].port":           "integer",
		"spec.list[0].deeper":         "array",
		"spec.list[0].deeper[0]":      "array",
		"spec.map":                    "object",
		"":                            "none",
		"name":                        "none",
		".spec":                       "none",
		"spec.":                       "none",
		"spec..name":                  "none",
		"spec.Name":                   "none",
		"spec.name.first":             "none",
		"spec.name[0]":                "none",
		"spec.list.port":              "none",
		"spec.list[1].port":           "none",
		"spec.list[0]port":            "none",
		"spec.list[0].deeper[0].port": "none",
		"spec.map.key":                "none",
		"spec[0].name":                "none",
	} {
		got := "none"
		if field, ok := schema.At(path); ok {
			got = field.Type
		}
		if got != want {
			t.Errorf("%q is of type %s, want %s", path, got, want)
		}
	}
}
