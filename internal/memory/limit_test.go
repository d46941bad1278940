package memory

import (
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/fstest"
)

func TestLimitOf(t *testing.T) {
	const v1, v2 = "memory/memory.limit_in_bytes", "memory.max"
	for name, c := range map[string]struct {
		file, text string
		want       int64
	}{
		"version 2":            {v2, "104857600\n", 78643200},
		"version 2, unlimited": {v2, "max\n", 0},
		"version 1":            {v1, "104857600\n", 78643200},
		"version 1, unlimited": {v1, "9223372036854771712\n", 0},
		"64 KiB pages":         {v1, "9223372036854710272\n", 0},
		"nonsense":             {v2, "nonsense", 0},
		"zero":                 {v2, "0\n", 0},
		"no control group":     {"other", "", 0},
	} {
		got, ok := limitOf(fstest.MapFS{c.file: {Data: []byte(c.text)}})
		if got != c.want || ok != (c.want != 0) {
			t.Errorf("%s: %d, %t, want %d", name, got, ok, c.want)
		}
	}
}

func TestCollectSeldom(t *testing.T) {
	for gogc, want := range map[string]int{"": 200, "50": 50} {
		t.Setenv("GOGC", gogc)
		before := debug.SetGCPercent(50)
		CollectSeldom()
		if got := debug.SetGCPercent(before); got != want {
			t.Errorf("GOGC=%q: the percentage is %d, want %d", gogc, got, want)
		}
	}
}

// TestSetLimit sets the memory limit of the test process. The limit must not change if GOMEMLIMIT has already set it.
func TestSetLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	const limit = int64(8 << 30) // more memory than the tests use
	group := fstest.MapFS{"memory.max": {Data: []byte(strconv.FormatInt(limit, 10))}}
	for name, c := range map[string]struct {
		before int64
		group  fs.FS
		want   int64
	}{
		"by the control group": {math.MaxInt64, group, limit / 4 * 3},
		"GOMEMLIMIT is higher": {limit + 1, group, limit + 1},
		"GOMEMLIMIT is lower":  {limit / 2, group, limit / 2},
		"no limit at all":      {math.MaxInt64, fstest.MapFS{}, math.MaxInt64},
	} {
		debug.SetMemoryLimit(c.before)
		SetLimit(c.group)
		if got := debug.SetMemoryLimit(-1); got != c.want {
			t.Errorf("%s: the limit is %d, want %d", name, got, c.want)
		}
	}
}
