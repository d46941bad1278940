package probe

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ladder describes how to find a limit by sending requests of increasing size.
type ladder struct {
	fact, by string
	sizes    []int
	request  func(size int) *wire.Request
	text     func(size int) string
	arrived  func(size int, o Outcome) bool // reports whether the Echo received everything
}

func headerLadders() []ladder {
	return []ladder{
		{"request.headers.size", "request.headers.size.by",
			[]int{1 << 10, 2 << 10, 4 << 10, 8 << 10, 12 << 10, 16 << 10, 24 << 10, 31 << 10, 48 << 10, 63 << 10},
			func(size int) *wire.Request {
				return &wire.Request{Path: PlainPath, Fields: wire.Fields("X-Pathcheck-Size", strings.Repeat("x", size))}
			}, formatSize, func(size int, o Outcome) bool {
				e := o.Described()
				return e != nil && len(strings.Join(e.Values("X-Pathcheck-Size"), "")) == size
			}},
		{"request.headers.number", "request.headers.number.by",
			[]int{20, 40, 60, 80, 100},
			func(size int) *wire.Request {
				fields := make([]wire.Field, size)
				for i := range fields {
					fields[i] = wire.Field{Name: fmt.Sprintf("X-Pathcheck-%d", i), Value: "1"}
				}
				return &wire.Request{Path: PlainPath, Fields: fields}
			}, strconv.Itoa, func(number int, o Outcome) bool {
				e, arrived := o.Described(), 0
				for i := range number {
					if e != nil && e.Has(fmt.Sprintf("X-Pathcheck-%d", i)) {
						arrived++
					}
				}
				return arrived == number
			}},
		{"request.url.size", "request.url.size.by",
			[]int{1 << 10, 2 << 10, 4 << 10, 7 << 10, 8 << 10},
			func(size int) *wire.Request {
				return &wire.Request{Path: PlainPath + "/" + strings.Repeat("x", size)}
			}, formatSize, func(size int, o Outcome) bool {
				e := o.Described()
				return e != nil && strings.HasSuffix(e.PathOnly(), "/"+strings.Repeat("x", size))
			}},
	}
}

// These are the sources of a limit.
const (
	byNone  = None
	byProxy = "proxy"
	byEcho  = "Echo"
)

// climb sends requests of increasing size until one of them is refused, and adds the facts about the limit.
func climb(ctx context.Context, g *Group, l ladder) error {
	largest := 0
	for _, each := range l.sizes {
		o, err := g.Ask(ctx, l.request(each))
		switch {
		case err != nil && largest > 0 && over(ctx, err) == nil:
			g.Add(l.decide(largest, byProxy, "closed")...)
			return err
		case err != nil:
			return err
		case o.Response != nil && o.RejectedByEcho():
			g.Add(l.decide(largest, byEcho, fmt.Sprintf("%d from the Echo itself", o.Status))...)
			return nil
		case !l.arrived(each, o):
			g.Add(l.decide(largest, byProxy, cmp.Or(o.Refusal, "not all of it arrived"))...)
			return nil
		}
		largest = each
	}
	g.Add(l.decide(largest, byNone, "")...)
	return nil
}

// decide returns the facts for the largest size that arrived. If a larger size was refused, refusal is the reason.
func (l *ladder) decide(largest int, by, refusal string) []Fact {
	sent, received := "up to "+l.text(l.sizes[len(l.sizes)-1]), "all"
	if refusal != "" {
		received = l.text(largest) + "; anything larger is refused: " + refusal
	}
	return []Fact{
		NewFact(l.fact, l.text(largest), sent, received),
		Detail(NewFact(l.by, by, sent, received)),
	}
}
