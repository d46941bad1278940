package children

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// escaped returns JSON in which characters that YAML forbids or changes are escaped. The API server parses the body of an apply request as
// YAML.
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

// unlikeYAML reports whether a character is allowed in JSON strings, but is forbidden or changed in YAML strings. Such characters are the
// byte order mark, noncharacters, and control characters such as the line break U+0085.
func unlikeYAML(r rune) bool {
	return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
}
