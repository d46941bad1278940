package process

import (
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
)

func TestLimitOf(t *testing.T) {
	const v1, v2 = "memory/memory.limit_in_bytes", "memory.max"
	for name, c := range map[string]struct {
		file, text string
		want       int64
	}{
		"version 2":            {v2, "104857600\n", 78643200},
		"version 2, unlimited": {v2, "max\n", math.MaxInt64},
		"version 1":            {v1, "104857600\n", 78643200},
		"version 1, unlimited": {v1, "9223372036854771712\n", math.MaxInt64},
		"64 KiB pages":         {v1, "9223372036854710272\n", math.MaxInt64},
		"nonsense":             {v2, "nonsense", math.MaxInt64},
		"zero":                 {v2, "0\n", math.MaxInt64},
		"no control group":     {"other", "", math.MaxInt64},
	} {
		NewWithT(t).Expect(limitOf(fstest.MapFS{c.file: {Data: []byte(c.text)}})).To(Equal(c.want), name)
	}
}

func TestCollectSeldom(t *testing.T) {
	for gogc, want := range map[string]int{"": 200, "50": 50} {
		t.Setenv("GOGC", gogc)
		before := debug.SetGCPercent(50)
		CollectSeldom()
		NewWithT(t).Expect(debug.SetGCPercent(before)).To(Equal(want), gogc)
	}
}

// TestSetMemoryLimit sets the memory limit of the test process. The limit must not change if GOMEMLIMIT has already set it.
func TestSetMemoryLimit(t *testing.T) {
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
		SetMemoryLimit(c.group)
		NewWithT(t).Expect(debug.SetMemoryLimit(-1)).To(Equal(c.want), name)
	}
}

func TestRest(t *testing.T) {
	const mega = 1 << 20
	for name, c := range map[string]struct {
		allocated []uint64 // the MiB that were allocated at each reading
		returned  []int    // the indexes of the readings after which memory is returned
	}{
		"after a start":          {[]uint64{100, 200, 200}, []int{2}},
		"never while busy":       {[]uint64{100, 200, 300, 400}, nil},
		"once":                   {[]uint64{100, 100, 101, 101, 102}, []int{1}},
		"again after more work":  {[]uint64{100, 100, 150, 150, 150}, []int{1, 3}},
		"after much little work": {[]uint64{100, 100, 101, 102, 103, 104, 105, 106, 107, 108}, []int{1, 9}},
		"not for little work":    {[]uint64{1, 1, 2, 2}, nil},
	} {
		watch, returned := rest{}, []int(nil)
		for i, allocated := range c.allocated {
			if watch.begins(allocated * mega) {
				returned = append(returned, i)
			}
		}
		NewWithT(t).Expect(returned).To(HaveExactElements(c.returned), name)
	}
}

func TestAllocated(t *testing.T) {
	before := allocated()
	kept := make([]byte, 10<<20)
	if after := allocated(); after < before+uint64(len(kept)) {
		t.Errorf("%d bytes were allocated, and then %d", before, after)
	}
}
