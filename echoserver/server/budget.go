package server

import (
	"math"
	"runtime/debug"
	"sync/atomic"
)

// What connections and requests hold, in bytes. TestFloods measures whether the sums are enough.
const (
	// connectionCost is what a connection and its first request hold: buffers, the stacks of goroutines, a short header and a short body.
	connectionCost = 24 << 10
	// tlsConnectionCost is what a connection with TLS holds.
	tlsConnectionCost = connectionCost + 40<<10
	// http2Cost is what a connection holds in addition if its protocol is HTTP/2: receive windows, frames, and includedStreams requests. A
	// header that net/http decodes comes on top.
	http2Cost = 136 << 10
	// includedStreams is how many requests in progress the cost of an HTTP/2 connection includes.
	includedStreams = 4
	// requestCost is what each further request holds, besides its header and its body.
	requestCost = 16 << 10
	// includedHeader is how much of a header the cost of a connection or request includes.
	includedHeader = 4 << 10
	// includedResponse is how much of a response the cost of a request includes.
	includedResponse = 4 << 10
	// fieldCost is what a field of a header holds besides its name and its value: the entry of a map, and a slice.
	fieldCost = 96
	// headerFactor is how often a longer header is held besides the response: as read, and as parsed.
	headerFactor = 2
	// unlimitedMemory is the memory that the budget is a part of if the process has no memory limit.
	unlimitedMemory = 512 << 20
)

// budget bounds the bytes that connections and requests hold, so that the process stays below its memory limit, whatever clients send.
// The rest of the memory is for garbage and the Go runtime.
type budget struct {
	connections pool
	requests    pool
}

// newBudget returns a budget for a memory limit in bytes: a quarter of it each for connections and for requests.
func newBudget(memory int64) *budget {
	b := &budget{}
	b.connections.limit = memory / 4
	b.requests.limit = memory / 4
	return b
}

// availableMemory returns the soft memory limit of the process in bytes, which comes from the cgroup or GOMEMLIMIT.
func availableMemory() int64 {
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit
	}
	return unlimitedMemory
}

// pool is a number of bytes that can be taken and given back.
type pool struct {
	limit int64
	used  atomic.Int64
}

// take takes bytes if they are available.
func (p *pool) take(bytes int64) bool { return p.takeWithin(bytes, p.limit) }

// takeLarge takes bytes for what is large or lasts long. It leaves a quarter of the pool to ordinary requests.
func (p *pool) takeLarge(bytes int64) bool { return p.takeWithin(bytes, p.limit/4*3) }

func (p *pool) takeWithin(bytes, limit int64) bool {
	if p.used.Add(bytes) <= limit {
		return true
	}
	p.used.Add(-bytes)
	return false
}

// give gives bytes back.
func (p *pool) give(bytes int64) { p.used.Add(-bytes) }
