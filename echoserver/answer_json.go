package main

import (
	"bytes"
	"encoding/json"
)

// maxIndented is the maximum size of JSON that is indented, in bytes: people read no longer one, and indentation takes as long as encoding.
const maxIndented = 16 << 10

// compactJSON returns the answer as JSON with a line break at its end. For HTML, characters of markup are escaped.
func (a *answer) compactJSON(forHTML bool) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(forHTML)
	_ = encoder.Encode(a) // a buffer never fails, and all types can be encoded
	return b.Bytes()
}

// indentedJSON is compactJSON for people, unless it is longer than maxIndented.
func (a *answer) indentedJSON() []byte {
	compact := a.compactJSON(false)
	if len(compact) > maxIndented {
		return compact
	}
	var b bytes.Buffer
	b.Grow(len(compact) * 3 / 2)
	_ = json.Indent(&b, compact, "", " ") // a buffer never fails, and the JSON is valid
	return b.Bytes()
}
