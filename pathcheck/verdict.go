package pathcheck

import (
	"github.com/echo-operator/echo-operator/internal/pathverdict"
	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
)

// Verdict returns the part of a report that fits into a container's termination message, as JSON of at most 4,000 bytes.
func (r *Report) Verdict() []byte {
	v := pathverdict.Verdict{Problem: fact.Cut(r.Problem, pathverdict.MaxText), Facts: len(r.Facts), Unfinished: r.unfinished(),
		Silent: r.silent}
	if v.Silent != "" {
		v.Address = fact.Cut(fact.Printable(r.Address), pathverdict.MaxText)
	}
	for _, each := range r.Expected {
		if !each.OK {
			v.Failed = append(v.Failed, pathverdict.Unmet{Name: fact.Cut(each.Name, pathverdict.MaxName),
				Want: fact.Cut(fact.Printable(each.Want), pathverdict.MaxValue), Got: r.lasting(each)})
		}
	}
	return v.Encode()
}

// unfinished returns the reason why this run did not test facts that another run may test, or "" if there are no such facts. The deadline
// takes precedence over other reasons.
func (r *Report) unfinished() (reason string) {
	for _, each := range r.NotTested {
		if each.Unfinished && reason != pathverdict.DeadlinePassed {
			reason = fact.Cut(fact.Printable(each.Reason), pathverdict.MaxText)
		}
	}
	return reason
}

// lasting returns the value of a fact that does not meet an expectation. It omits measured times, so that a lasting failure does not look
// new in each run.
func (r *Report) lasting(result Result) string {
	fact, got := r.fact(result.Name), result.Got
	if q, err := parseQuantity(got); err == nil && q.isTime && fact != nil && fact.Detail {
		return "another time"
	}
	return got
}
