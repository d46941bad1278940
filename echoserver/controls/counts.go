package controls

import (
	"container/list"
	"hash/maphash"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

const (
	// maxKeys is the maximum number of keys that Counts remembers.
	maxKeys = 1024
	// countMemory is how long Counts remembers a key after its first request.
	countMemory = 5 * time.Minute
)

// Counts counts requests by key. If there are too many keys, it forgets the least recently used one.
type Counts struct {
	seed maphash.Seed

	mutex  sync.Mutex
	counts map[uint64]*list.Element // of recent
	recent *list.List               // contains *count, the most recently used first
}

type count struct {
	key   uint64
	began time.Time
	count int
}

// NewCounts returns empty counts.
func NewCounts() *Counts {
	return &Counts{seed: maphash.MakeSeed(), counts: map[uint64]*list.Element{}, recent: list.New()}
}

// key returns the same key for a request and its retries. The key depends on the X-Request-Id header, which proxies preserve when they
// retry. Without that header, it depends on the method, host, path, query, and client. The key is a hash, because a query can be long.
// number identifies the fault.
func (c *Counts) key(r *http.Request, number int, client func(*http.Request) string) uint64 {
	parts := []string{exchange.SentRequestID(r.Header)}
	if parts[0] == "" {
		parts = []string{r.Method, r.Host, r.RequestURI, client(r)}
	}
	return c.Hash(append(parts, strconv.Itoa(number))...)
}

// Hash returns a key for several strings.
func (c *Counts) Hash(parts ...string) uint64 {
	var hash maphash.Hash
	hash.SetSeed(c.seed)
	for _, part := range parts {
		_, _ = hash.WriteString(part) // never fails
		_ = hash.WriteByte(0)         // never fails
	}
	return hash.Sum64()
}

// Next counts a request and returns the number of requests with the same key, including this request.
func (c *Counts) Next(key uint64) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := time.Now()
	element, found := c.counts[key]
	switch {
	case !found:
		if len(c.counts) == maxKeys {
			oldest := c.recent.Back()
			delete(c.counts, countOf(oldest).key)
			c.recent.Remove(oldest)
		}
		element = c.recent.PushFront(&count{key: key, began: now})
		c.counts[key] = element
	case now.Sub(countOf(element).began) >= countMemory:
		*countOf(element) = count{key: key, began: now}
	}
	c.recent.MoveToFront(element)
	countOf(element).count++
	return countOf(element).count
}

func countOf(element *list.Element) *count {
	count, _ := element.Value.(*count) // the list holds no other type
	return count
}
