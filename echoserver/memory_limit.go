package main

import (
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory sets the soft memory limit of the garbage collector below the limit of the container. GOMEMLIMIT takes precedence.
func limitMemory(cgroup fs.FS) {
	limit, ok := memoryLimit(cgroup)
	if ok && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit returns 90 % of the limit of the cgroup in bytes; the rest is for memory that the Go runtime does not count. It returns
// false if there is no limit.
func memoryLimit(cgroup fs.FS) (int64, bool) {
	const unlimitedV1 = math.MaxInt64 &^ (1<<16 - 1) // cgroup v1 rounds it down to a multiple of the page size
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(cgroup, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // cgroup v2 has "max" for no limit
		if err == nil && limit > 0 && limit < unlimitedV1 {
			return limit / 10 * 9, true
		}
	}
	return 0, false
}
