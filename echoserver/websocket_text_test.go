package main

import (
	"bytes"
	"slices"
	"testing"
	"unicode/utf8"
)

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
