package memory

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// lookPeriod is how often ReturnAtRest looks at what was allocated.
	lookPeriod = 5 * time.Second
	// atRest is how many bytes a process that has nothing to do allocates in that time at most.
	atRest = 1 << 20
	// worthIt is how many bytes must have been allocated since memory was last returned, so that there is something to return.
	worthIt = 8 << 20
)

// ReturnAtRest returns unused memory to the operating system whenever there is nothing left to do, until ctx ends. Without
// this, memory would stay as high as it was while there was work.
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
				runtime.GC() // pools keep for one collection what they hold
				debug.FreeOSMemory()
			}
		}
	}
}

// rest decides when to return memory.
type rest struct{ last, returned uint64 }

// begins reports whether memory is to be returned now, given how many bytes the process has allocated since its start.
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
