package transport

import (
	"math"
	"runtime/debug"
	"sync/atomic"
)

// These constants are amounts of memory, in bytes, for connections and requests. TestRun_survivesFloods checks that they suffice.
const (
	// Cost is the memory that a connection and its first request hold: buffers, goroutine stacks, a short header, and a short body.
	Cost = 24 << 10
	// TLSConnectionCost is the memory that a TLS connection holds.
	TLSConnectionCost = Cost + 40<<10
	// http2Cost is the additional memory that an HTTP/2 connection holds: receive windows, frames, and includedStreams requests, but not the
	// header that net/http decodes.
	http2Cost = 136 << 10
	// includedStreams is the number of requests in progress that the cost of an HTTP/2 connection covers.
	includedStreams = 4
	// RequestCost is the memory that each additional request holds, apart from its header and body.
	RequestCost = 16 << 10
	// IncludedHeader is the header size that the cost of a connection or request covers.
	IncludedHeader = 4 << 10
	// IncludedResponse is the response size that the cost of a request covers.
	IncludedResponse = 4 << 10
	// FieldCost is the memory that a header field holds in addition to its name and value: a map entry and a slice.
	FieldCost = 96
	// HeaderFactor is how many copies of a header longer than IncludedHeader are in memory: one as read, and one as parsed. The memory
	// for the response is counted separately.
	HeaderFactor = 2
	// unlimitedMemory is the assumed memory limit, in bytes, of a process that has none.
	unlimitedMemory = 512 << 20
)

// OverBudget is the reason that clients receive if the budget does not allow their request.
const OverBudget = "the server has used up its memory budget; try again later"

// Budget limits the memory that connections and requests hold, so that clients cannot make the process exceed its memory limit. The
// remaining memory is for garbage and the Go runtime.
type Budget struct {
	Connections Pool
	Requests    Pool
}

// NewBudget returns a budget that allots a quarter of the memory limit to connections, and a quarter to requests.
func NewBudget(memory int64) *Budget {
	return &Budget{Connections: Pool{Limit: memory / 4}, Requests: Pool{Limit: memory / 4}}
}

// AvailableMemory returns the soft memory limit, in bytes, that the cgroup or GOMEMLIMIT sets, or unlimitedMemory if neither sets one.
func AvailableMemory() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return unlimitedMemory
}

// Pool is an amount of memory, in bytes, that can be acquired and released.
type Pool struct {
	Limit int64
	Used  atomic.Int64
}

// Acquire acquires bytes from the pool if enough are available, and otherwise returns false.
func (p *Pool) Acquire(bytes int64) bool { return p.acquireWithin(bytes, p.Limit) }

// AcquireLarge is like Acquire, but for large or long-lived requests: it leaves a quarter of the pool for ordinary requests.
func (p *Pool) AcquireLarge(bytes int64) bool { return p.acquireWithin(bytes, p.Limit/4*3) }

func (p *Pool) acquireWithin(bytes, limit int64) bool {
	if p.Used.Add(bytes) <= limit {
		return true
	}
	p.Used.Add(-bytes)
	return false
}

// Release returns bytes to the pool.
func (p *Pool) Release(bytes int64) { p.Used.Add(-bytes) }
