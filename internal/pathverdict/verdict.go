// Package pathverdict is what a check tells the operator: a short form of its report, in the termination message of its container. No network
// path and no right is needed between them for that. The operator trusts nothing in it: any pod can write one.
package pathverdict

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxSize is the maximum size of a verdict, in bytes: a kubelet keeps the last 4,096 of a termination message.
	maxSize = 4000
	// maxRead is the size of the longest message that is read.
	maxRead = 4096
	// maxFacts is how many facts a verdict has at most.
	maxFacts = 60
	// MaxName, MaxValue and MaxText are the maximum lengths of the name and of the value of a fact, and of other texts, in bytes.
	MaxName, MaxValue, MaxText = 64, 32, 200
)

// Verdict has no latencies, identifiers or addresses, so that two verdicts of the same way are the same.
type Verdict struct {
	// Problem is why there are no facts: no Echo has responded.
	Problem string            `json:"problem,omitempty"`
	Facts   map[string]string `json:"facts"`
	// NotTested has the reasons why groups or facts could not be examined.
	NotTested map[string]string `json:"notTested,omitempty"`
	// Failed are the expectations that are not met, of Expected ones.
	Failed   []Unmet `json:"failed,omitempty"`
	Expected int     `json:"expected"`
	// Unfinished is true if the run had to end before everything was examined.
	Unfinished bool `json:"unfinished,omitempty"`
	// Truncated is true if not everything had room.
	Truncated bool `json:"truncated,omitempty"`
}

// Unmet is an expectation that is not met. Got is empty if the fact is not known.
type Unmet struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got,omitempty"`
}

// DeadlinePassed is why something was not tested if the run had to end.
const DeadlinePassed = "the deadline of the run has passed"

// Add adds a fact if there is room.
func (v *Verdict) Add(name, value string) {
	if len(v.Facts) == maxFacts {
		v.Truncated = true
		return
	}
	v.Facts[name] = value
}

// Encode returns a verdict as JSON of at most 4,000 bytes. What matters least is left out if there is more.
func (v Verdict) Encode() []byte {
	for {
		data, err := json.Marshal(v)
		if err == nil && len(data) <= maxSize {
			return data
		}
		v.shorten()
	}
}

func (v *Verdict) shorten() {
	v.Truncated = true
	switch {
	case len(v.NotTested) > 0:
		v.NotTested = nil
	case len(v.Facts) > 0:
		// Always the same one, so that the same facts have the same digest: of those with most parts, the last by name.
		delete(v.Facts, slices.MaxFunc(slices.Collect(maps.Keys(v.Facts)), func(a, b string) int {
			return cmp.Or(cmp.Compare(strings.Count(a, "."), strings.Count(b, ".")), cmp.Compare(a, b))
		}))
	default:
		v.Failed = slices.Delete(v.Failed, len(v.Failed)-1, len(v.Failed))
	}
}

var (
	nameOfFact = regexp.MustCompile(`^[a-zA-Z0-9.]{1,64}$`)
	printable  = regexp.MustCompile(`^[ -~]*$`)
)

// Decode reads a verdict from a termination message. An error says what a valid one would not have.
func Decode(message string) (Verdict, error) {
	var v Verdict
	if len(message) > maxRead {
		return v, fmt.Errorf("it has more than %d bytes", maxRead)
	}
	if err := json.Unmarshal([]byte(message), &v); err != nil {
		return v, errors.New("it is not the JSON of a verdict")
	}
	return v, v.validate()
}

// validate returns what a verdict has that a valid one would not have.
func (v Verdict) validate() error {
	if len(v.Facts) > maxFacts || v.Problem == "" && !v.Truncated && len(v.Facts) == 0 {
		return fmt.Errorf("it has %d facts", len(v.Facts))
	}
	for _, value := range v.Facts {
		if len(value) > MaxValue || value == "" {
			return errors.New("the value of a fact is empty or too long")
		}
	}
	names, texts := v.words()
	if slices.ContainsFunc(names, func(name string) bool { return !nameOfFact.MatchString(name) }) {
		return errors.New("it has a fact whose name is not valid")
	}
	if slices.ContainsFunc(texts, func(text string) bool { return len(text) > MaxText || !printable.MatchString(text) }) {
		return errors.New("it has a text that is too long or not printable")
	}
	return nil
}

// words returns all names of facts and groups, and all other texts of a verdict.
func (v Verdict) words() (names, texts []string) {
	texts = []string{v.Problem}
	for _, each := range []map[string]string{v.Facts, v.NotTested} {
		names = slices.AppendSeq(names, maps.Keys(each))
		texts = slices.AppendSeq(texts, maps.Values(each))
	}
	for _, each := range v.Failed {
		names, texts = append(names, each.Name), append(texts, each.Want, each.Got)
	}
	return names, texts
}
