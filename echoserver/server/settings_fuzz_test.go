package server

import (
	"io"
	"strings"
	"testing"
)

// FuzzSettings looks for errors that do not name the setting.
func FuzzSettings(f *testing.F) {
	options := new(Settings).options()
	for i, o := range options {
		row := settingRows()[o.flag]
		f.Add(i, row.usual)
		for text := range row.refused {
			f.Add(i, text)
		}
	}
	f.Fuzz(func(t *testing.T, i int, text string) {
		if i < 0 || i >= len(options) || strings.Contains(text, "\x00") { // a variable cannot contain NUL
			t.Skip()
		}
		name := options[i].variable()
		if _, err := ParseSettings("v1", nil, []string{name + "=" + text}, io.Discard); err != nil && !strings.Contains(err.Error(), name) {
			t.Fatalf("the error for %s=%q does not name it: %v", name, text, err)
		}
	})
}
