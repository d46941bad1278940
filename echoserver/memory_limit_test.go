package main

import (
	"testing"
	"testing/fstest"
)

func TestMemoryLimit(t *testing.T) {
	const v1, v2 = "memory/memory.limit_in_bytes", "memory.max"
	for name, c := range map[string]struct {
		file, text string
		want       int64
	}{
		"version 2":            {v2, "104857600\n", 94371840},
		"version 2, unlimited": {v2, "max\n", 0},
		"version 1":            {v1, "104857600\n", 94371840},
		"version 1, unlimited": {v1, "9223372036854771712\n", 0},
		"64 KiB pages":         {v1, "9223372036854710272\n", 0},
		"nonsense":             {v2, "nonsense", 0},
		"zero":                 {v2, "0\n", 0},
		"no control group":     {"other", "", 0},
	} {
		got, ok := memoryLimit(fstest.MapFS{c.file: {Data: []byte(c.text)}})
		if got != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %d, %t, want %d", name, got, ok, c.want)
		}
	}
}
