package requests

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ladder is a limit that is searched for: sizes from small to large. The Echo itself takes the last one.
type ladder struct {
	fact, meaning string
	sizes         []int
	request       func(size int) *wire.Request
	text          func(size int) string
	arrived       func(size int, o run.Outcome) bool // whether the Echo received it whole
}

func headerLadders() []ladder {
	return []ladder{
		{"request.headers.size", "the largest header that arrives; the Echo itself takes little more than the largest that is tried",
			[]int{1 << 10, 2 << 10, 4 << 10, 8 << 10, 12 << 10},
			func(size int) *wire.Request {
				return &wire.Request{Path: run.PlainPath, Fields: wire.Fields("X-Pathcheck-Size", strings.Repeat("x", size))}
			}, fact.Size, headerArrived},
		{"request.headers.number", "how many headers arrive at most; the Echo itself takes 100", []int{20, 40, 60, 80},
			func(size int) *wire.Request {
				fields := make([]wire.Field, size)
				for i := range fields {
					fields[i] = wire.Field{Name: fmt.Sprintf("X-Pathcheck-%d", i), Value: "1"}
				}
				return &wire.Request{Path: run.PlainPath, Fields: fields}
			}, strconv.Itoa, headersArrived},
		{"request.url.size", "the longest path that arrives; the Echo itself takes little more than the longest that is tried",
			[]int{1 << 10, 2 << 10, 4 << 10, 7 << 10},
			func(size int) *wire.Request {
				return &wire.Request{Path: run.PlainPath + "/" + strings.Repeat("x", size)}
			}, fact.Size, pathArrived},
	}
}

func headerArrived(size int, o run.Outcome) bool {
	e := o.Described()
	return e != nil && len(strings.Join(e.Values("X-Pathcheck-Size"), "")) == size
}

func headersArrived(number int, o run.Outcome) bool {
	e, arrived := o.Described(), 0
	for i := range number {
		if e != nil && e.Has(fmt.Sprintf("X-Pathcheck-%d", i)) {
			arrived++
		}
	}
	return arrived == number
}

func pathArrived(size int, o run.Outcome) bool {
	e := o.Described()
	return e != nil && strings.HasSuffix(e.Path, "/"+strings.Repeat("x", size))
}

func examineHeaderLimits(ctx context.Context, g *run.Group) error {
	for _, each := range headerLadders() {
		if err := climb(ctx, g, each); err != nil {
			return err
		}
	}
	return nil
}

// climb sends larger and larger requests until one is refused, and adds the fact.
func climb(ctx context.Context, g *run.Group, l ladder) error {
	largest, refusal := 0, ""
	for _, each := range l.sizes {
		o, err := g.Ask(ctx, l.request(each))
		if err != nil {
			if largest > 0 && run.Over(ctx, err) == nil {
				g.Add(l.decide(largest, "closed"))
			}
			return err
		}
		if !l.arrived(each, o) {
			if refusal = o.Refusal; refusal == "" {
				refusal = fmt.Sprintf("not all of it arrived, and the Echo responded with %d", o.Status)
			}
			break
		}
		largest = each
	}
	g.Add(l.decide(largest, refusal))
	return nil
}

// decide returns the fact for the largest size that arrived, and how a larger one was refused, if one was.
func (l *ladder) decide(largest int, refusal string) fact.Fact {
	last := l.sizes[len(l.sizes)-1]
	received := "all"
	if refusal != "" {
		received = l.text(largest) + "; more is refused: " + refusal
	}
	return fact.New(l.fact, l.text(largest), "up to "+l.text(last), received, l.meaning)
}
