package pathcheck

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// ladder is a limit that is searched for: sizes from small to large, the last of which the Echo itself takes.
type ladder struct {
	fact, meaning string
	sizes         []int
	request       func(size int) *request
	text          func(size int) string
	arrived       func(size int, o outcome) bool // whether the Echo received it whole
}

func headerLadders() []ladder {
	return []ladder{
		{"request.headers.size", "the largest header that arrives; the Echo itself takes little more than the largest that is tried", []int{1 << 10, 2 << 10, 4 << 10, 8 << 10, 12 << 10},
			func(size int) *request {
				return &request{path: plainPath, fields: []field{{"X-Pathcheck-Size", strings.Repeat("x", size)}}}
			}, size, headerArrived},
		{"request.headers.number", "how many headers arrive at most; the Echo itself takes 100", []int{20, 40, 60, 80},
			func(size int) *request {
				fields := make([]field, size)
				for i := range fields {
					fields[i] = field{fmt.Sprintf("X-Pathcheck-%d", i), "1"}
				}
				return &request{path: plainPath, fields: fields}
			}, strconv.Itoa, headersArrived},
		{"request.url.size", "the longest path that arrives; the Echo itself takes little more than the longest that is tried", []int{1 << 10, 2 << 10, 4 << 10, 7 << 10},
			func(size int) *request { return &request{path: plainPath + "/" + strings.Repeat("x", size)} }, size, pathArrived},
	}
}

func headerArrived(size int, o outcome) bool {
	e := o.echoed()
	return e != nil && len(strings.Join(e.values("X-Pathcheck-Size"), "")) == size
}

func headersArrived(number int, o outcome) bool {
	e, arrived := o.echoed(), 0
	for i := range number {
		if e != nil && e.has(fmt.Sprintf("X-Pathcheck-%d", i)) {
			arrived++
		}
	}
	return arrived == number
}

func pathArrived(size int, o outcome) bool {
	e := o.echoed()
	return e != nil && strings.HasSuffix(e.Path, "/"+strings.Repeat("x", size))
}

func examineHeaderLimits(ctx context.Context, g *group) error {
	for _, each := range headerLadders() {
		if err := climb(ctx, g, each); err != nil {
			return err
		}
	}
	return nil
}

// climb sends larger and larger requests until one is refused, and adds the fact.
func climb(ctx context.Context, g *group, l ladder) error {
	largest, refusal := 0, ""
	for _, each := range l.sizes {
		o, err := g.ask(ctx, l.request(each))
		if err != nil {
			if largest > 0 && over(ctx, err) == nil {
				g.add(l.decide(largest, "closed"))
			}
			return err
		}
		if !l.arrived(each, o) {
			if refusal = o.refusal; refusal == "" {
				refusal = fmt.Sprintf("not all of it arrived, and the Echo responded with %d", o.status)
			}
			break
		}
		largest = each
	}
	g.add(l.decide(largest, refusal))
	return nil
}

// decide returns the fact for the largest size that arrived, and how a larger one was refused, if one was.
func (l *ladder) decide(largest int, refusal string) Fact {
	last := l.sizes[len(l.sizes)-1]
	received := "all"
	if refusal != "" {
		received = l.text(largest) + "; more is refused: " + refusal
	}
	return newFact(l.fact, l.text(largest), "up to "+l.text(last), received, l.meaning)
}
