package process

import (
	"context"
	"io/fs"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// CollectSeldom halves the default frequency of garbage collection, as long as the memory limit allows it. GOGC takes precedence.
func CollectSeldom() {
	const percent = 200
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// SetMemoryLimit sets the garbage collector's soft memory limit to three quarters of a control group's memory limit. The argument is the
// control group's directory. The remaining quarter is for allocations that outpace the collector. The variable GOMEMLIMIT takes precedence.
func SetMemoryLimit(cgroup fs.FS) {
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limitOf(cgroup))
	}
}

// limitOf returns three quarters of a control group's memory limit as a number of bytes, or math.MaxInt64 if there is no limit.
func limitOf(cgroup fs.FS) int64 {
	const unlimitedV1 = math.MaxInt64 &^ (1<<16 - 1) // cgroup v1 rounds the limit down to a multiple of the page size
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		// A missing file contains no limit.
		text, _ := fs.ReadFile(cgroup, name)
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // cgroup v2 writes "max" for no limit
		if err == nil && limit > 0 && limit < unlimitedV1 {
			return limit / 4 * 3
		}
	}
	return math.MaxInt64
}

const (
	// lookPeriod is the interval at which ReturnMemoryAtRest reads the number of allocated bytes.
	lookPeriod = 5 * time.Second
	// atRest is the maximum number of bytes that an idle process allocates within lookPeriod.
	atRest = 1 << 20
	// worthIt is how many bytes must be allocated before it is worthwhile to return memory again.
	worthIt = 8 << 20
)

// ReturnMemoryAtRest returns unused memory to the operating system whenever the process becomes idle, until ctx is done. Otherwise, memory
// usage would stay as high as it was under load.
func ReturnMemoryAtRest(ctx context.Context) {
	look, watch := time.Tick(lookPeriod), rest{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-look:
			if watch.begins(allocated()) {
				runtime.GC() // pools keep their content through one garbage collection, and FreeOSMemory runs the next one
				debug.FreeOSMemory()
			}
		}
	}
}

type rest struct{ last, returned uint64 }

// begins reports whether to return memory now.
func (r *rest) begins(allocated uint64) bool {
	resting := allocated-r.last <= atRest && allocated-r.returned >= worthIt
	r.last = allocated
	if resting {
		r.returned = allocated
	}
	return resting
}

// allocated returns how many bytes the process has allocated since it started.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
