package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"unicode/utf8"
)

func TestUnmask(t *testing.T) {
	key := [maskSize]byte{1, 2, 4, 8}
	for size := range 40 {
		for cut := range size + 1 {
			data := []byte(payload(size))
			rest := unmask(data[:cut], binary.LittleEndian.Uint32(key[:]))
			unmask(data[cut:], rest)
			for i, got := range data {
				if want := payload(size)[i] ^ key[i%maskSize]; got != want {
					t.Fatalf("%d bytes cut at %d: byte %d is %x, want %x", size, cut, i, got, want)
				}
			}
		}
	}
}

func TestFrameHeader(t *testing.T) {
	for length, want := range map[int]string{
		0: "\x82\x00", 125: "\x82\x7d", 126: "\x82\x7e\x00\x7e", 65535: "\x82\x7e\xff\xff",
		65536: "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", maxMessage: "\x82\x7f\x00\x00\x00\x00\x00\x10\x00\x00",
	} {
		header := appendFrameHeader(nil, opcodeBinary, length)
		if string(header) != want || frameHeaderSize(header[1]) != len(want) || len(want) > maxServerHeader {
			t.Errorf("the header of %d bytes is %x, want %x", length, header, want)
		}
		if got := parseFrame(header); got.left != int64(length) || !got.shortest || !got.final || got.masked || got.opcode != opcodeBinary {
			t.Errorf("%x is parsed as %+v", header, got)
		}
	}
}

// TestReasonsFitIntoControlFrames checks the longest reasons that the server gives.
func TestReasonsFitIntoControlFrames(t *testing.T) {
	valid := webSocketFrame{final: true, masked: true, shortest: true, opcode: opcodeText}
	for name, change := range map[string]func(*webSocketFrame){
		"reserved": func(f *webSocketFrame) { f.reserved = true }, "opcode": func(f *webSocketFrame) { f.opcode = 15 },
		"mask": func(f *webSocketFrame) { f.masked = false }, "length": func(f *webSocketFrame) { f.shortest = false },
		"fragment": func(f *webSocketFrame) { f.opcode, f.final = opcodePing, false }, "control": func(f *webSocketFrame) { f.opcode, f.left = opcodePing, 126 },
		"continuation": func(f *webSocketFrame) { f.opcode = opcodeContinuation }, "size": func(f *webSocketFrame) { f.left = maxMessage + 1 },
	} {
		frame := valid
		if err := frame.check(-1); err != nil {
			t.Fatal(err)
		}
		change(&frame)
		c, ok := errors.AsType[*webSocketClose](frame.check(-1))
		if !ok || !isCloseCode(c.code) || c.reason == "" || len(c.payload()) > maxControl {
			t.Errorf("%s: closed by %v", name, c)
		}
	}
}

// TestUTF8Stream compares it with the definition: a text can become valid if it is characters and the beginning of one. It tries all
// sequences of up to four bytes that are at the limits of what Unicode defines.
func TestUTF8Stream(t *testing.T) {
	beginnings := map[string]bool{}
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if r >= 0x10000 && r&0x3F != 0 && r&0x3F != 0x3F || !utf8.ValidRune(r) {
			continue // its last byte is between these
		}
		text := string(r)
		for size := 1; size < len(text); size++ {
			beginnings[text[:size]] = true
		}
	}
	limits := []byte{0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF}
	sequences := [][]byte{{}}
	for range 4 {
		var longer [][]byte
		for _, sequence := range sequences {
			for _, next := range limits {
				longer = append(longer, append(slices.Clone(sequence), next))
			}
		}
		for _, text := range longer {
			checkUTF8Stream(t, text, beginnings)
		}
		sequences = longer
	}
}

func checkUTF8Stream(t *testing.T, text []byte, beginnings map[string]bool) {
	t.Helper()
	rest := text
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			break
		}
		rest = rest[size:]
	}
	complete := len(rest) == 0
	possible := complete || beginnings[string(rest)]
	for cut := range len(text) + 1 {
		var stream utf8Stream
		got := stream.add(text[:cut]) && stream.add(bytes.Clone(text[cut:]))
		if got != possible || got && stream.complete() != complete {
			t.Fatalf("%x cut at %d: possible %t, complete %t; want %t, %t", text, cut, got, stream.complete(), possible, complete)
		}
	}
}
