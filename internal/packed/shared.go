package packed

import (
	"strings"
	"unique"
)

// shared is a text that many objects have in common, but for some values such as their names. It is kept once.
//
// The values are replaced by what is no text: no value contains the byte 0xFF. Where a text contains it before, nothing is replaced.
type shared struct{ text unique.Handle[string] }

const (
	asIs     = "="
	replaced = "~"
	escape   = "\xff"
)

// share returns a text without the values. There may be at most nine.
func share(text string, values ...string) shared {
	if strings.Contains(text, escape) {
		return shared{unique.Make(asIs + text)}
	}
	for i, value := range values {
		if value != "" {
			text = strings.ReplaceAll(text, value, placeholder(i))
		}
	}
	return shared{unique.Make(replaced + text)}
}

// with returns the text with the values.
func (s shared) with(values ...string) string {
	kind, text := s.text.Value()[:1], s.text.Value()[1:]
	if kind == asIs {
		return text
	}
	for i, value := range values {
		if value != "" {
			text = strings.ReplaceAll(text, placeholder(i), value)
		}
	}
	return text
}

// placeholder returns what stands for a value. It has no character that names and UIDs have, so that no value is found in it.
func placeholder(i int) string { return escape + string(rune(1+i)) }
