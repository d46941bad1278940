package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	file, out := filepath.Join(t.TempDir(), "a.svg"), bytes.Buffer{}
	if err := run(&out, []string{file, "sh", "-c", "echo '=== A & B'; echo '$ true' >&2"}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "=== A & B\n$ true\n" {
		t.Errorf("the output is copied as %q", out.String())
	}
	drawn, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`class="s">=== A &amp; B</text>`, `class="c">$ true</text>`} {
		if !strings.Contains(string(drawn), want) {
			t.Errorf("the picture lacks %s:\n%s", want, drawn)
		}
	}
	for decoder := xml.NewDecoder(bytes.NewReader(drawn)); !errors.Is(err, io.EOF); _, err = decoder.Token() {
		if err != nil {
			t.Fatalf("%v in\n%s", err, drawn)
		}
	}
}

// TestRun_failure checks that a failed demo leaves the previous picture unchanged.
func TestRun_failure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.svg")
	for _, arguments := range [][]string{{file}, {file, "sh", "-c", "echo a; exit 3"}, {file, "./nothing"}} {
		if err := run(io.Discard, arguments); err == nil {
			t.Errorf("%q is not an error", arguments)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%q wrote a picture", arguments)
		}
	}
}

func TestShortened(t *testing.T) {
	times, total := shortened([]line{{at: time.Second}, {at: time.Second}, {at: time.Minute}})
	if want := []time.Duration{time.Second, time.Second, 3 * time.Second}; !reflect.DeepEqual(times, want) || total != 18*time.Second {
		t.Errorf("lines appear at %v of %v", times, total)
	}
}

func TestWrapped(t *testing.T) {
	long := strings.Repeat("é", columns)
	if got := wrapped([]line{{text: long + "z", at: 1}, {at: 2}}); !reflect.DeepEqual(got, []line{{text: long, at: 1}, {text: "z", at: 1}, {at: 2}}) {
		t.Errorf("wrapped: %v", got)
	}
}
