package memory

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// lookPeriod is the interval at which ReturnAtRest reads the number of allocated bytes.
	lookPeriod = 5 * time.Second
	// atRest is the maximum number of bytes that an idle process allocates in lookPeriod.
	atRest = 1 << 20
	// worthIt is the number of bytes that must be allocated after memory was returned, before returning memory again is worthwhile.
	worthIt = 8 << 20
)

// ReturnAtRest returns unused memory to the operating system whenever the process becomes idle, until ctx ends. Otherwise, memory usage
// would stay as high as it was under load.
func ReturnAtRest(ctx context.Context) {
	ticker := time.NewTicker(lookPeriod)
	defer ticker.Stop()
	watch := rest{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if watch.begins(allocated()) {
				runtime.GC() // pools keep their content for one collection
				debug.FreeOSMemory()
			}
		}
	}
}

// rest determines when to return memory.
type rest struct{ last, returned uint64 }

// begins reports whether to return memory now, given how many bytes the process has allocated since its start.
func (r *rest) begins(allocated uint64) bool {
	resting := allocated-r.last <= atRest && allocated-r.returned >= worthIt
	r.last = allocated
	if resting {
		r.returned = allocated
	}
	return resting
}

// allocated returns how many bytes the process has allocated since its start.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
