package pathcheck

import (
	"bytes"
	"testing"
)

// TestMessagesOfSeveralFrames reads what a way may make of a message (RFC 6455, 5.4).
func TestMessagesOfSeveralFrames(t *testing.T) {
	for name, c := range map[string]struct {
		frames string
		kept   bool
	}{
		"one frame":                  {"\x81\x02ab", true},
		"two frames":                 {"\x01\x01a\x80\x01b", true},
		"a ping between":             {"\x01\x01a\x89\x03abc\x80\x01b", true},
		"a close":                    {"\x88\x02ab", false},
		"of bytes":                   {"\x82\x02ab", false},
		"no end":                     {"\x01\x01a", false},
		"a text within a text":       {"\x01\x01a\x81\x01b", false},
		"begins with a continuation": {"\x80\x02ab", false},
		"longer":                     {"\x81\x03abc", false},
		"longer, of two":             {"\x01\x02ab\x80\x01c", false},
		"compressed":                 {"\xc1\x02ab", false},
		"pings without end":          {string(bytes.Repeat([]byte{0x89, 0}, 2000)), false},
	} {
		text, err := readText(bytes.NewReader([]byte(c.frames)), 2)
		if kept := err == nil && string(text) == "ab"; kept != c.kept {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}
