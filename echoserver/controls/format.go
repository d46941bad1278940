package controls

import (
	"container/list"
	"hash/maphash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/echo-operator/echo-operator/echoserver/exchange"
)

// format is the format in which a request is echoed.
type format string

const (
	JSON format = "json"
	Text format = "text"
	HTML format = "html"
)

// AcceptedFormat returns the format that the values of Accept prefer (RFC 9110, 12.5.1), or JSON if they express no preference or accept
// none of the formats.
func AcceptedFormat(accept []string) format {
	best, quality := JSON, 0.0
	ranges := mediaRanges(accept)
	for _, candidate := range []struct {
		format    format
		mediaType string
	}{{JSON, "application/json"}, {Text, "text/plain"}, {HTML, "text/html"}} {
		if q := qualityOf(candidate.mediaType, ranges); q > quality {
			best, quality = candidate.format, q
		}
	}
	return best
}

// NamesJSON reports whether the values of Accept name JSON explicitly, not only through a wildcard.
func NamesJSON(accept []string) bool {
	return slices.ContainsFunc(mediaRanges(accept), func(r mediaRange) bool { return r.mediaType == "application/json" && r.quality > 0 })
}

type mediaRange struct {
	mediaType string
	quality   float64
}

// maxRanges is the maximum number of media ranges that are evaluated. Browsers send about eight.
const maxRanges = 100

func mediaRanges(accept []string) []mediaRange {
	if len(accept) == 0 || len(accept) == 1 && accept[0] == "*/*" { // nearly all clients except browsers
		return nil
	}
	var ranges []mediaRange
	for element := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		if len(ranges) == maxRanges {
			break
		}
		mediaType, parameters, _ := strings.Cut(element, ";")
		ranges = append(ranges, mediaRange{strings.ToLower(strings.TrimSpace(mediaType)), qualityIn(parameters)})
	}
	return ranges
}

// qualityIn returns the weight in the parameters of a media range (RFC 9110, 12.4.2): 1 if it is not set, 0 if it is invalid.
func qualityIn(parameters string) float64 {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if !strings.EqualFold(name, "q") {
			continue
		}
		quality, err := strconv.ParseFloat(value, 64)
		if err != nil || !(quality >= 0 && quality <= 1) {
			return 0
		}
		return quality
	}
	return 1
}

// qualityOf returns the weight of the most specific range that matches a media type.
func qualityOf(mediaType string, ranges []mediaRange) float64 {
	group, _, _ := strings.Cut(mediaType, "/")
	for _, pattern := range []string{mediaType, group + "/*", "*/*"} {
		for _, r := range ranges {
			if r.mediaType == pattern {
				return r.quality
			}
		}
	}
	return 0
}

// handshake is the name of the only control that applies to a WebSocket.
const handshake = "handshake"

// ForHandshake returns the controls that apply to a WebSocket handshake. It returns an error if the request's handshake control is not
// valid, and ignores all other controls.
func (c *Chooser) ForHandshake(r *http.Request) (Controls, error) {
	if c.policy == None {
		return Controls{}, nil
	}
	query, err := queryControls(r.URL.RawQuery)
	name := http.CanonicalHeaderKey(headerPrefix + handshake)
	headers, parameters := http.Header{}, url.Values{}
	if values, ok := r.Header[name]; ok {
		headers[name] = values
	}
	if values, ok := query[handshake]; ok {
		parameters[handshake] = values
	}
	return Controls{}.requestedBy(headers, parameters, err, c.policy)
}

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
