package memory

import (
	"slices"
	"testing"
)

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
		if !slices.Equal(returned, c.returned) {
			t.Errorf("%s: memory is returned at %v, want %v", name, returned, c.returned)
		}
	}
}

func TestAllocated(t *testing.T) {
	before := allocated()
	kept := make([]byte, 10<<20)
	if after := allocated(); after < before+uint64(len(kept)) {
		t.Errorf("%d bytes were allocated, and then %d", before, after)
	}
}
