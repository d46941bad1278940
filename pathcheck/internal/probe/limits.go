package probe

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ladder describes how to find a limit by sending requests of increasing size.
type ladder struct {
	fact, by string
	sizes    []int
	text     func(size int) string
	own      int // the largest size that the Echo accepts if the path adds no headers; 0 if it accepts all
	// usedUp reports whether a size, together with the headers of a plain request, exceeds the Echo's limit. It can be nil.
	usedUp  func(size int, plain http.Header) bool
	slow    bool // whether large sizes take long, so that the search begins with the smallest
	request func(size int) *wire.Request
}

func headerLadders() []ladder {
	return []ladder{
		{"request.headers.size", "request.headers.size.by",
			[]int{1 << 10, 2 << 10, 4 << 10, 8 << 10, 12 << 10, 16 << 10, 24 << 10, 31 << 10, 48 << 10, 63 << 10}, formatSize, 31 << 10,
			func(size int, plain http.Header) bool {
				for name, values := range plain {
					for _, value := range values {
						length := len(value)
						_, redacted, _ := strings.Cut(value, "[redacted: ")
						_, _ = fmt.Sscanf(redacted, "%d bytes", &length) // unchanged if the value is not redacted
						size += len(name+": \r\n") + length
					}
				}
				return size > 32<<10-512 // the rest is for the request line and the name of the header
			}, false,
			func(size int) *wire.Request {
				return &wire.Request{Path: PlainPath, Fields: wire.Fields("X-Pathcheck-Size", strings.Repeat("x", size))}
			}},
		{"request.headers.number", "request.headers.number.by", []int{20, 40, 60, 80, 100}, strconv.Itoa, 80,
			func(size int, plain http.Header) bool {
				for _, values := range plain {
					size += len(values)
				}
				return size > 100
			}, false,
			func(size int) *wire.Request {
				fields := make([]wire.Field, size)
				for i := range fields {
					fields[i] = wire.Field{Name: fmt.Sprintf("X-Pathcheck-%d", i), Value: "1"}
				}
				return &wire.Request{Path: PlainPath, Fields: fields}
			}},
		{"request.url.size", "request.url.size.by", []int{1 << 10, 2 << 10, 4 << 10, 7 << 10, 8 << 10}, formatSize, 7 << 10, nil, false,
			func(size int) *wire.Request { return &wire.Request{Path: PlainPath + "/" + strings.Repeat("x", size)} }},
	}
}

// isComplete reports whether the Echo received all of a request: the body or, without a body, the end of the path and all fields.
func isComplete(r *wire.Request, o Outcome) bool {
	e, sum := o.Described(), fmt.Sprintf("%x", sha256.Sum256(r.Body))
	switch {
	case o.Arrived() && len(r.Body) > describedBody:
		return string(o.Body) == fmt.Sprintf("%d %s\n", len(r.Body), sum)
	case e == nil:
		return false
	case len(r.Body) > 0:
		return e.Request.Body != nil && e.Request.Body.SHA256 == sum
	}
	isChanged := func(f wire.Field) bool { return !isUnchanged(f.Value, e.Values(f.Name)) }
	return strings.HasSuffix(e.PathOnly(), strings.TrimPrefix(r.Path, PlainPath)) && !slices.ContainsFunc(r.Fields, isChanged)
}

// These are the sources of a limit.
const byNone, byProxy, byEcho = None, "proxy", "Echo"

// climb finds the largest size that arrives, and adds the facts about the limit. The next size is tested several times, in pairs whose
// control has the largest size that arrives, or the smallest if large sizes take long.
func (g *Group) climb(ctx context.Context, l ladder) error {
	low, high := -1, len(l.sizes) // the indexes of the largest size that arrived, and of the smallest size that was refused
	next := high - 1              // most paths have no limit
	if l.slow {
		next = 0
	}
	for {
		before, request := g.Limits.Used(), l.request(l.sizes[next])
		o, err := g.ask(ctx, g.Do, request)
		if err != nil {
			return err
		}
		cost := g.Limits.Used() - before
		if !isComplete(request, o) {
			high = next
		} else if low = next; l.slow && next > 0 && next+1 < high { // a short body shows only the latency
			larger := o.Took * time.Duration(l.sizes[next+1]/l.sizes[next])
			if larger > wire.LongTimeout/2 {
				return g.unknownLimit(l, fmt.Sprintf("slow path: %s would take %s", l.text(l.sizes[next+1]), larger.Round(time.Second)))
			}
		}
		if high-low == 1 && high < len(l.sizes) {
			if l.slow && cost*int64(min(g.Engine.needed(1), maxPairs)+1)+before > wire.MaxBytes {
				return g.unknownLimit(l, "repeating the largest body would exceed the bytes of a run")
			}
			if arrived, err := g.confirm(ctx, l, low, high); err != nil || !arrived {
				return err
			}
			low, high = high, len(l.sizes) // an error had caused the refusal
		}
		if high-low == 1 {
			g.Add(l.decide(low, byNone, "")...)
			return nil
		}
		if next = (low + high) / 2; l.slow {
			next = low + 1
		}
	}
}

// confirm determines whether a size that was refused once arrives. If it does not, confirm adds the facts about the limit.
func (g *Group) confirm(ctx context.Context, l ladder, low, high int) (arrived bool, err error) {
	r, err := g.perform(ctx, l.experiment(low, high))
	isOwn := low >= 0 && (l.sizes[low] == l.own ||
		l.sizes[low] < l.own && l.usedUp != nil && l.usedUp(l.sizes[high], g.plainHeaders()))
	switch {
	case err != nil, r.value == Kept:
		return err == nil, err
	case r.value == "":
		return false, g.unknownLimit(l, r.received)
	case low < 0 && !r.outcome.Arrived(): // the size does not matter
		value, received := refusedBy(r.outcome)
		g.Add(NewFact(l.fact, value, l.text(l.sizes[high]), received))
	case r.value == byProxy && isOwn: // the Echo may have refused the size, and a proxy may have replaced its response
		g.Add(l.decide(low, r.value, r.received)[0])
		g.Unknown(l.by, "the Echo refuses "+l.text(l.sizes[high])+", too")
	default:
		g.Add(l.decide(low, r.value, r.received)...)
	}
	return false, nil
}

// plainHeaders returns the headers of a plain request that the Echo received, including the user's headers.
func (g *Group) plainHeaders() http.Header {
	headers := maps.Clone(g.Known.Plain.Description.Headers)
	for _, own := range g.Headers {
		headers.Add(own.Name, own.Value)
	}
	return headers
}

func (g *Group) unknownLimit(l ladder, reason string) error {
	g.Unknown(l.fact, reason)
	g.Unknown(l.by, reason)
	return nil
}

// experiment returns the experiment that determines whether a size arrives and, if it does not, who refuses it.
func (l *ladder) experiment(low, high int) experiment {
	request := l.request(l.sizes[high])
	x := experiment{fact: l.fact, once: true, probe: *request, large: l.slow, rejects: true,
		read: func(o Outcome) (string, string) {
			switch {
			case o.rejected():
				return byEcho, fmt.Sprintf("%d from the Echo itself", o.Status)
			case isComplete(request, o):
				return Kept, ""
			case o.Description == nil && len(request.Body) <= describedBody:
				return "", whyNotDescribed(o)
			}
			return byProxy, "not all of it arrived"
		},
		refused: func(o Outcome) (string, string) { return byProxy, o.Refusal }}
	if low >= 0 && l.slow {
		low = 0 // the largest size would use up the bytes of a run
	}
	if low >= 0 {
		x.control = l.request(l.sizes[low])
	}
	return x
}

// decide returns the facts about a limit. low is the index of the largest size that arrived. If a larger size was refused, refusal is the
// reason.
func (l *ladder) decide(low int, by, refusal string) []Fact {
	largest := 0
	if low >= 0 {
		largest = l.sizes[low]
	}
	sent, received, refused := "up to "+l.text(l.sizes[len(l.sizes)-1]), "all", ""
	if refusal != "" {
		refused = l.text(l.sizes[low+1])
		received = l.text(largest) + "; " + refused + " is refused: " + refusal
	}
	fact := NewFact(l.fact, l.text(largest), sent, received)
	fact.Refused = refused
	return []Fact{fact, Detail(NewFact(l.by, by, sent, received))}
}
