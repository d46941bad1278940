package main

import (
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// jsonWriter writes JSON as json.MarshalIndent does with an indent of one space, but without HTML escapes. It exists because
// encoding/json would increase the CPU time of a request by a fifth (make benchmark-echoserver).
type jsonWriter struct {
	data  []byte
	depth int
}

// element begins the next element of a list.
func (w *jsonWriter) element() {
	if last := w.data[len(w.data)-1]; last != '{' && last != '[' {
		w.data = append(w.data, ',')
	}
	w.line()
}

// member begins the next member of an object.
func (w *jsonWriter) member(name string) {
	w.element()
	w.quote(name)
	w.data = append(w.data, ": "...)
}

func (w *jsonWriter) line() {
	w.data = append(w.data, '\n')
	for range w.depth {
		w.data = append(w.data, ' ')
	}
}

// group writes an object or a list; the function members writes its members.
func (w *jsonWriter) group(brackets string, members func()) {
	w.data = append(w.data, brackets[0])
	w.depth++
	members()
	w.depth--
	if w.data[len(w.data)-1] != brackets[0] {
		w.line()
	}
	w.data = append(w.data, brackets[1])
}

func (w *jsonWriter) object(name string, members func()) {
	w.member(name)
	w.group("{}", members)
}

func (w *jsonWriter) text(name, value string) {
	w.member(name)
	w.quote(value)
}

// textIf omits an empty value, like all methods with this suffix.
func (w *jsonWriter) textIf(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *jsonWriter) number(name string, value int64) {
	w.member(name)
	w.data = strconv.AppendInt(w.data, value, 10)
}

func (w *jsonWriter) numberIf(name string, value int) {
	if value != 0 {
		w.number(name, int64(value))
	}
}

func (w *jsonWriter) boolean(name string, value bool) {
	w.member(name)
	w.data = strconv.AppendBool(w.data, value)
}

func (w *jsonWriter) booleanIf(name string, value bool) {
	if value {
		w.boolean(name, value)
	}
}

func (w *jsonWriter) time(name string, value time.Time) {
	w.member(name)
	w.data = append(w.data, '"')
	w.data = value.AppendFormat(w.data, time.RFC3339Nano)
	w.data = append(w.data, '"')
}

func (w *jsonWriter) list(name string, values []string) {
	w.member(name)
	w.group("[]", func() {
		for _, value := range values {
			w.element()
			w.quote(value)
		}
	})
}

func (w *jsonWriter) listIf(name string, values []string) {
	if len(values) > 0 {
		w.list(name, values)
	}
}

func (w *jsonWriter) lists(name string, values map[string][]string) {
	w.object(name, func() {
		names := make([]string, 0, len(values)) // slices.Sorted would allocate it several times
		for name := range values {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			w.list(name, values[name])
		}
	})
}

// quote writes a string. Nearly all strings need no escapes and are copied.
func (w *jsonWriter) quote(text string) {
	plain := 0
	for plain < len(text) && isPlain(text[plain]) {
		plain++
	}
	w.data = slices.Grow(w.data, 2*len(text)-plain+2) // most escapes have two characters
	w.data = append(w.data, '"')
	w.data = append(w.data, text[:plain]...)
	w.data = appendEscaped(w.data, text[plain:])
	w.data = append(w.data, '"')
}

// isPlain reports whether a byte is a character that needs no escape.
func isPlain(c byte) bool { return ' ' <= c && c <= '~' && c != '"' && c != '\\' }

func appendEscaped(data []byte, text string) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case isPlain(c):
				data = append(data, c)
			case c == '"': // the most frequent, in JSON within JSON
				data = append(data, '\\', c)
			default:
				data = appendEscape(data, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			data = append(data, `\ufffd`...)
		case r == '\u2028', r == '\u2029': // the line separators, which JavaScript did not allow in strings
			data = append(data, '\\', 'u', '2', '0', '2', '8'+byte(r&1))
		default:
			data = append(data, text[i:i+size]...)
		}
		i += size
	}
	return data
}

// appendEscape appends an ASCII character that is not plain.
func appendEscape(data []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(data, '\\', c)
	case '\n':
		return append(data, '\\', 'n')
	case '\r':
		return append(data, '\\', 'r')
	case '\t':
		return append(data, '\\', 't')
	case '\b':
		return append(data, '\\', 'b')
	case '\f':
		return append(data, '\\', 'f')
	case 0x7f:
		return append(data, c)
	}
	return appendUnicodeEscape(data, c)
}

// appendUnicodeEscape appends an ASCII character by its number, as in \u003c.
func appendUnicodeEscape(data []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	return append(data, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

// withoutEscapes writes a string that needs no escapes.
func (w *jsonWriter) withoutEscapes(name, value string) {
	w.member(name)
	w.data = append(append(append(slices.Grow(w.data, len(value)+2), '"'), value...), '"')
}
