// Package memory keeps a process within its container's memory limit, and returns unused memory while the process is idle.
package memory

import (
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// CollectSeldom halves the default frequency of garbage collection, as long as the memory limit allows it. The environment variable GOGC
// takes precedence.
func CollectSeldom() {
	const percent = 200
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// SetLimit sets the garbage collector's soft memory limit to three quarters of a control group's memory limit. The argument is the control
// group's directory. The remaining quarter is for allocations that outpace the collector. The environment variable GOMEMLIMIT takes
// precedence.
func SetLimit(cgroup fs.FS) {
	limit, ok := limitOf(cgroup)
	if ok && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit)
	}
}

// limitOf returns three quarters of a control group's memory limit as a number of bytes, or false if there is no limit.
func limitOf(cgroup fs.FS) (int64, bool) {
	const unlimitedV1 = math.MaxInt64 &^ (1<<16 - 1) // cgroup v1 rounds the limit down to a multiple of the page size
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		text, err := fs.ReadFile(cgroup, name)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // cgroup v2 writes "max" for no limit
		if err == nil && limit > 0 && limit < unlimitedV1 {
			return limit / 4 * 3, true
		}
	}
	return 0, false
}
