package server

import (
	"container/list"
	"hash/maphash"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

const (
	// maxFailureKeys is how many keys of failed requests are remembered.
	maxFailureKeys = 1024
	// failureMemory is how long a key is remembered after its first failure.
	failureMemory = 5 * time.Minute
)

// failureCounts counts the requests with the same key. If there are too many keys, the one that has not been used for the longest time
// is forgotten.
type failureCounts struct {
	seed maphash.Seed

	mutex  sync.Mutex
	counts map[uint64]*list.Element // of recent
	recent *list.List               // of *failureCount; the one used last comes first
}

type failureCount struct {
	key   uint64
	began time.Time
	count int
}

func newFailureCounts() *failureCounts {
	return &failureCounts{seed: maphash.MakeSeed(), counts: map[uint64]*list.Element{}, recent: list.New()}
}

// key identifies a request and its repetitions: by the X-Request-Id, which proxies keep when they retry, or else by method, path, query
// and client. It is a hash, because a query can be long. The number is that of the fault.
func (c *failureCounts) key(r *http.Request, number int, trusted []netip.Prefix) uint64 {
	parts := []string{exchange.SentRequestID(r.Header)}
	if parts[0] == "" {
		client := describeClient(r, trusted)
		parts = []string{r.Method, r.Host, r.RequestURI, client.Address}
	}
	return c.hash(append(parts, strconv.Itoa(number))...)
}

func (c *failureCounts) hash(parts ...string) uint64 {
	var hash maphash.Hash
	hash.SetSeed(c.seed)
	for _, part := range parts {
		_, _ = hash.WriteString(part) // never fails
		_ = hash.WriteByte(0)         // never fails
	}
	return hash.Sum64()
}

// next counts a request and returns how many there are with its key, this one included.
func (c *failureCounts) next(key uint64) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := time.Now()
	element, found := c.counts[key]
	switch {
	case !found:
		if len(c.counts) == maxFailureKeys {
			oldest := c.recent.Back()
			delete(c.counts, countOf(oldest).key)
			c.recent.Remove(oldest)
		}
		element = c.recent.PushFront(&failureCount{key: key, began: now})
		c.counts[key] = element
	case now.Sub(countOf(element).began) >= failureMemory:
		*countOf(element) = failureCount{key: key, began: now}
	}
	c.recent.MoveToFront(element)
	countOf(element).count++
	return countOf(element).count
}

func countOf(element *list.Element) *failureCount {
	count, _ := element.Value.(*failureCount) // the list has no others
	return count
}
