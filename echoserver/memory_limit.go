package main

import (
	"io/fs"
	"math"
	"runtime/debug"
	"strconv"
	"strings"
)

// limitMemory makes the garbage collector work harder before the container's limit ends the process. GOMEMLIMIT wins.
func limitMemory(cgroup fs.FS) {
	limit, ok := memoryLimit(cgroup)
	if ok && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimit is 90 % of the control group's limit in bytes: the rest is for what the Go runtime does not count. It is false
// where there is no limit.
func memoryLimit(cgroup fs.FS) (int64, bool) {
	const unlimitedV1 = math.MaxInt64 &^ (1<<16 - 1) // version 1 rounds "no limit" down to a page, of at most 64 KiB
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(cgroup, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // version 2 says "max" for none
		if err == nil && limit > 0 && limit < unlimitedV1 {
			return limit / 10 * 9, true
		}
	}
	return 0, false
}
