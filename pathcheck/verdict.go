package pathcheck

import "github.com/echo-operator/echo-operator/internal/pathverdict"

// Verdict returns what remains of a report in the termination message of a container, as JSON of at most 4,000 bytes.
func (r *Report) Verdict() []byte {
	v := pathverdict.Verdict{
		Problem: cut(r.Problem, pathverdict.MaxText), Facts: map[string]string{}, NotTested: map[string]string{}, Expected: len(r.Expected),
	}
	for _, each := range r.Expected {
		if !each.OK {
			v.Failed = append(v.Failed, pathverdict.Unmet{Name: cut(each.Name, pathverdict.MaxName), Want: cut(printable(each.Want), pathverdict.MaxValue), Got: r.lasting(each)})
		}
	}
	for _, each := range r.Facts {
		if !each.Detail {
			v.Add(each.Name, each.Value)
		}
	}
	for _, each := range r.NotTested {
		v.NotTested[each.Name] = cut(printable(each.Reason), pathverdict.MaxText)
		v.Unfinished = v.Unfinished || each.unfinished
	}
	return v.Encode()
}

// lasting returns the value of a fact that is not as expected. What was measured is left out, so that a failure that lasts is no news in each run.
func (r *Report) lasting(result Result) string {
	fact, got := r.fact(result.Name), result.Got
	if q, err := parseQuantity(got); err == nil && q.isTime && fact != nil && fact.Detail {
		return "another time"
	}
	return got
}
