package pathcheck

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Expectation is a value that a fact must have.
type Expectation struct {
	Name string `json:"name"`
	Want string `json:"want"` // a value, or >= or <= and a number such as 14 or 10Mi
}

// Result is how an expectation compares with the facts.
type Result struct {
	Expectation
	Got string `json:"got,omitempty"` // empty if the fact is not known
	OK  bool   `json:"ok"`
}

// ParseExpectation parses name=value.
func ParseExpectation(text string) (Expectation, error) {
	name, want, ok := strings.Cut(text, "=")
	e := Expectation{strings.TrimSpace(name), strings.TrimSpace(want)}
	if !ok || !regexp.MustCompile(`^[a-zA-Z0-9.]+$`).MatchString(e.Name) || e.Want == "" {
		return e, fmt.Errorf("%q is not an expectation such as client.address=kept or body.max=>=10Mi", text)
	}
	if regexp.MustCompile(`^[<>] ?[0-9]+([KMG]i)?$`).MatchString(e.Want) {
		return e, fmt.Errorf("%q: write >= or <= before a number", text)
	}
	if bound, _, isBound := e.bound(); isBound {
		if _, err := parseQuantity(bound); err != nil {
			return e, fmt.Errorf("%q: %w", text, err)
		}
	}
	return e, nil
}

// bound returns the number of an expectation that has one, and whether it is the least or the most.
func (e Expectation) bound() (number string, isLeast, ok bool) {
	if number, ok := strings.CutPrefix(e.Want, ">="); ok {
		return number, true, true
	}
	number, ok = strings.CutPrefix(e.Want, "<=")
	return number, false, ok
}

// parseQuantity parses a number of bytes, days or others, such as 14, 512Ki or 10Mi.
func parseQuantity(text string) (int64, error) {
	number, factor := strings.TrimSpace(text), int64(1)
	for suffix, each := range map[string]int64{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, factor = rest, each
			break
		}
	}
	value, err := strconv.ParseInt(number, 10, 33) // with a factor it still fits into 64 bits
	if err != nil {
		return 0, fmt.Errorf("%q is not a number such as 14 or 10Mi", text)
	}
	return value * factor, nil
}

// judge compares an expectation with the facts of a report.
func (e Expectation) judge(r *Report) Result {
	fact := r.fact(e.Name)
	if fact == nil {
		return Result{Expectation: e}
	}
	return Result{Expectation: e, Got: fact.Value, OK: e.met(fact.Value)}
}

func (e Expectation) met(value string) bool {
	bound, isLeast, ok := e.bound()
	if !ok {
		return value == e.Want
	}
	got, noNumber := parseQuantity(value)
	want, err := parseQuantity(bound)
	if noNumber != nil || err != nil {
		return false
	}
	return isLeast && got >= want || !isLeast && got <= want
}
