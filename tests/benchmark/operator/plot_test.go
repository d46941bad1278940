package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPlot(t *testing.T) {
	text := plot("title", []int{100, 1000, 10000}, line{"operator", "#000000", []float64{30, 20, 25}})
	for _, part := range []string{`<polyline points="60.0,125.0 325.0,200.0 590.0,162.5"`, ">title<", ">1000<", ">40<"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in\n%s", part, text)
		}
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
