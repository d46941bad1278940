package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestProtobuf(t *testing.T) {
	var p protobuf
	p.varint(1, 300)
	p.varint(2, 0)
	p.bool(3, true)
	p.bool(4, false)
	p.text(5, "hello")
	p.text(6, "")
	p.text(7, "a\xffb")
	p.message(16, nil)
	if want := "\x08\xac\x02\x18\x01\x2a\x05hello\x3a\x05a\uFFFDb\x82\x01\x00"; string(p) != want {
		t.Errorf("encoded it is %q, want %q", p, want)
	}
}

func TestEachField(t *testing.T) {
	for message, want := range map[string]string{
		"":                         "",
		"\x08\xac\x02\x12\x02hi":   `1:0:300:"" 2:2:0:"hi" `,
		"\x0912345678\x1d1234":     `1:1:0:"12345678" 3:5:0:"1234" `,
		"\x0a\x00\x0a\x01x":        `1:2:0:"" 1:2:0:"x" `,
		"\xf8\xff\xff\xff\x0f\x01": `536870911:0:1:"" `,
		// Malformed.
		"\x00\x00":                 "error", // number 0
		"\x80\x80\x80\x80\x10\x00": "error", // a number that is too large
		"\x08":                     "error",
		"\x08\x80":                 "error",
		"\x0a":                     "error",
		"\x0a\x02x":                "error",
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": "error", // a length over all that is left
		"\x09" + "1234567": "error",
		"\x0d123":          "error",
		"\x0b\x0c":         "error", // a group
		"\x0e":             "error",
		"\x08" + strings.Repeat("\xff", 10) + "\x01": "error", // a varint of more than 64 bits
	} {
		got := ""
		if err := eachField([]byte(message), func(f protobufField) { got += fmt.Sprintf("%d:%d:%d:%q ", f.number, f.wireType, f.varint, f.data) }); err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q is %s, want %s", message, got, want)
		}
	}
}
