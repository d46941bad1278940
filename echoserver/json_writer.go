package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
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
		names := slices.AppendSeq(make([]string, 0, len(values)), maps.Keys(values))
		slices.Sort(names)
		for _, name := range names {
			w.list(name, values[name])
		}
	})
}

// quote writes a string. Nearly all strings need no escapes and are copied.
func (w *jsonWriter) quote(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			w.data = append(w.data, quoted(text)...)
			return
		}
	}
	w.data = append(w.data, '"')
	w.data = append(w.data, text...)
	w.data = append(w.data, '"')
}

func quoted(text string) []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic("encoding a string: " + err.Error()) // a defect: every string can be encoded
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}
