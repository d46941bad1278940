package connection

import (
	"math"
	"runtime/debug"
	"sync/atomic"
)

// What connections and requests hold, in bytes. TestFloods measures whether the sums are enough.
const (
	// Cost is what a connection and its first request hold: buffers, the stacks of goroutines, a short header and a short body.
	Cost = 24 << 10
	// TLSConnectionCost is what a connection with TLS holds.
	TLSConnectionCost = Cost + 40<<10
	// http2Cost is what a connection holds in addition if its protocol is HTTP/2: receive windows, frames, and includedStreams requests. A
	// header that net/http decodes comes on top.
	http2Cost = 136 << 10
	// includedStreams is how many requests in progress the cost of an HTTP/2 connection includes.
	includedStreams = 4
	// RequestCost is what each further request holds, besides its header and its body.
	RequestCost = 16 << 10
	// IncludedHeader is how much of a header the cost of a connection or request includes.
	IncludedHeader = 4 << 10
	// IncludedResponse is how much of a response the cost of a request includes.
	IncludedResponse = 4 << 10
	// FieldCost is what a field of a header holds besides its name and its value: the entry of a map, and a slice.
	FieldCost = 96
	// HeaderFactor is how often a longer header is held besides the response: as read, and as parsed.
	HeaderFactor = 2
	// unlimitedMemory is the memory that the budget is a part of if the process has no memory limit.
	unlimitedMemory = 512 << 20
)

// OverBudget is the reason of a rejection because of the budget.
const OverBudget = "the server holds as much as its memory allows: try again later"

// Budget bounds the bytes that connections and requests hold, so that the process stays below its memory limit, whatever clients send.
// The rest of the memory is for garbage and the Go runtime.
type Budget struct {
	Connections Pool
	Requests    Pool
}

// NewBudget returns a budget for a memory limit in bytes: a quarter of it each for connections and for requests.
func NewBudget(memory int64) *Budget {
	b := &Budget{}
	b.Connections.Limit = memory / 4
	b.Requests.Limit = memory / 4
	return b
}

// AvailableMemory returns the soft memory limit of the process in bytes, which comes from the cgroup or GOMEMLIMIT.
func AvailableMemory() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return unlimitedMemory
}

// Pool is a number of bytes that can be taken and given back.
type Pool struct {
	Limit int64
	Used  atomic.Int64
}

// Acquire takes bytes if they are available.
func (p *Pool) Acquire(bytes int64) bool { return p.acquireWithin(bytes, p.Limit) }

// AcquireLarge takes bytes for what is large or lasts long. It leaves a quarter of the pool to ordinary requests.
func (p *Pool) AcquireLarge(bytes int64) bool { return p.acquireWithin(bytes, p.Limit/4*3) }

func (p *Pool) acquireWithin(bytes, limit int64) bool {
	if p.Used.Add(bytes) <= limit {
		return true
	}
	p.Used.Add(-bytes)
	return false
}

// Release gives bytes back.
func (p *Pool) Release(bytes int64) { p.Used.Add(-bytes) }
