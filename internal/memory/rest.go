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
	// atRest is the maximum number of bytes that an idle process allocates within lookPeriod.
	atRest = 1 << 20
	// worthIt is how many bytes must be allocated before it is worthwhile to return memory again.
	worthIt = 8 << 20
)

// ReturnAtRest returns unused memory to the operating system whenever the process becomes idle, until ctx is done. Otherwise, memory usage
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
				runtime.GC() // pools keep their content through one garbage collection, and FreeOSMemory runs the next one
				debug.FreeOSMemory()
			}
		}
	}
}

// rest determines when to return memory.
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
