package bundle

import "strings"

// Schema is the OpenAPI schema of a field.
type Schema struct {
	Type       string
	Enum       []any
	Properties map[string]Schema
	Items      *Schema
}

// At returns the schema of a path such as imagePullSecrets[0].name.
func (s Schema) At(path string) (Schema, bool) {
	for name := range strings.SplitSeq(path, ".") {
		name, isItem := strings.CutSuffix(name, "[0]")
		next, ok := s.Properties[name]
		if !ok {
			return s, false
		}
		if s = next; !isItem {
			continue
		}
		if s.Items == nil {
			return s, false
		}
		s = *s.Items
	}
	return s, true
}
