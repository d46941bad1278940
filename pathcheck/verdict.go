package pathcheck

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

const (
	// maxVerdict is the maximum size of a verdict: a kubelet keeps 4,096 bytes of a termination message. maxVerdictFacts is how many facts it
	// has at most.
	maxVerdict, maxVerdictFacts = 4000, 60
	// maxVerdictText is the maximum length of a text in it.
	maxVerdictText = 200
)

// Verdict is what remains of a report in the termination message of a container: no latencies, identifiers or addresses, so that two
// verdicts of the same way are the same.
type Verdict struct {
	Problem   string            `json:"problem,omitempty"`
	Facts     map[string]string `json:"facts"`
	NotTested map[string]string `json:"notTested,omitempty"` // name to reason
	Failed    []Result          `json:"failed,omitempty"`
	Expected  int               `json:"expected"`            // how many expectations there are
	Truncated bool              `json:"truncated,omitempty"` // not everything had room
}

// Verdict returns the verdict of a report, as JSON of at most maxVerdict bytes.
func (r *Report) Verdict() []byte {
	v := Verdict{Problem: cut(r.Problem, maxVerdictText), Facts: map[string]string{}, NotTested: map[string]string{}, Expected: len(r.Expected)}
	for _, each := range r.Expected {
		if !each.OK {
			v.Failed = append(v.Failed, Result{Expectation: Expectation{cut(each.Name, maxVerdictText), cut(printable(each.Want), maxValue)}, Got: each.Got})
		}
	}
	for _, each := range r.Facts {
		if !each.Detail && len(v.Facts) < maxVerdictFacts {
			v.Facts[each.Name] = each.Value
		}
	}
	for _, each := range r.NotTested {
		v.NotTested[each.Name] = cut(each.Reason, maxVerdictText)
	}
	for {
		data, err := json.Marshal(v)
		if err == nil && len(data) <= maxVerdict {
			return data
		}
		v.shorten()
	}
}

// shorten removes what matters least.
func (v *Verdict) shorten() {
	v.Truncated = true
	switch {
	case len(v.NotTested) > 0:
		clear(v.NotTested)
	case len(v.Facts) > 0:
		last := ""
		for name := range v.Facts {
			last = cmp.Or(last, name)
			if strings.Count(name, ".") > strings.Count(last, ".") || name > last {
				last = name
			}
		}
		delete(v.Facts, last)
	default:
		v.Failed = slices.Delete(v.Failed, len(v.Failed)-1, len(v.Failed))
	}
}
