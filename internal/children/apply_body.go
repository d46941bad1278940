package children

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// escaped returns JSON in which characters are escaped that YAML does not allow or changes: the API server reads what is applied as YAML.
func escaped(body []byte) []byte {
	if !bytes.ContainsFunc(body, unlikeYAML) {
		return body
	}
	all := make([]byte, 0, len(body)+6)
	for _, r := range string(body) {
		if unlikeYAML(r) {
			all = fmt.Appendf(all, `\u%04x`, r)
		} else {
			all = utf8.AppendRune(all, r)
		}
	}
	return all
}

// unlikeYAML reports whether a character may stand in a string of JSON, but not, or not as itself, in one of YAML: control characters,
// among them a line break (U+0085), the byte order mark, and what is not a character.
func unlikeYAML(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
}
