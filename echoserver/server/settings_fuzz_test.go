package server

import (
	"io"
	"reflect"
	"strings"
	"testing"
)

// FuzzSettings looks for errors that do not name the setting, and for values whose meaning changes with surrounding spaces or byte order
// marks.
func FuzzSettings(f *testing.F) {
	options := new(Settings).options()
	f.Add(8, "\ufeff") // a byte order mark, as in concatenated files
	for i, o := range options {
		row := spellings()[o.flag]
		f.Add(i, row.usual)
		for _, odd := range row.odd {
			f.Add(i, odd.text)
		}
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		if i < 0 || i >= len(options) || strings.Contains(text, "\x00") { // a variable cannot contain NUL
			t.Skip()
		}
		o := options[i]
		parse := func(text string) (Settings, error) {
			return ParseSettings("v1", nil, []string{o.variable() + "=" + text}, io.Discard)
		}
		s, err := parse(text)
		if err != nil {
			if !strings.Contains(err.Error(), o.variable()) {
				t.Fatalf("the error for %s=%q does not name it: %v", o.variable(), text, err)
			}
			return
		}
		if o.flag == bodyFlag {
			return
		}
		again, err := parse("\ufeff " + text + "\r\n")
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Fatalf("%s=%q means something else with spaces around it: %+v, %+v, %v", o.variable(), text, s, again, err)
		}
	})
}
