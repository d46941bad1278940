package pathcheck

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Expectation is a value that a fact must have.
type Expectation struct {
	Name string `json:"name"`
	Want string `json:"want"` // a value such as kept, or a bound such as >=14, <=10Mi, or <=50ms
}

// Result is the result of comparing an expectation with the facts.
type Result struct {
	Expectation
	Got string `json:"got,omitempty"` // empty if the fact is unknown
	OK  bool   `json:"ok"`
}

// ParseExpectation parses an expectation such as name=value.
func ParseExpectation(text string) (Expectation, error) {
	name, want, ok := strings.Cut(text, "=")
	e := Expectation{strings.TrimSpace(name), strings.TrimSpace(want)}
	if !ok || !regexp.MustCompile(`^[a-zA-Z0-9.]+$`).MatchString(e.Name) || e.Want == "" {
		return e, fmt.Errorf("%q is not an expectation such as client.address=kept or body.max=>=10Mi", text)
	}
	if regexp.MustCompile(`^=?[<>] ?[0-9]+([KMG]i)?$`).MatchString(e.Want) {
		return e, fmt.Errorf("%q: write >= or <= before a number", text)
	}
	if bound, _, isBound := e.bound(); isBound {
		if _, err := parseQuantity(bound); err != nil {
			return e, fmt.Errorf("%q: %w", text, err)
		}
	}
	return e, nil
}

// bound returns the number in a bound such as >=10Mi, and whether the bound is a lower bound. ok is false if the expectation is not a
// bound.
func (e Expectation) bound() (number string, isLeast, ok bool) {
	if number, ok := strings.CutPrefix(e.Want, ">="); ok {
		return number, true, true
	}
	number, ok = strings.CutPrefix(e.Want, "<=")
	return number, false, ok
}

// quantity is a number, or a time in nanoseconds.
type quantity struct {
	value  int64
	isTime bool
}

// parseQuantity parses a number such as 14 or 10Mi, or a time such as 50ms.
func parseQuantity(text string) (quantity, error) {
	number, factor := strings.TrimSpace(text), int64(1)
	for suffix, each := range map[string]int64{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, factor = rest, each
			break
		}
	}
	if value, err := strconv.ParseInt(number, 10, 33); err == nil { // 33 bits, so that the product with the factor fits into 64 bits
		return quantity{value: value * factor}, nil
	}
	if d, err := time.ParseDuration(number); err == nil && factor == 1 {
		return quantity{int64(d), true}, nil
	}
	return quantity{}, fmt.Errorf("%q is neither a number such as 14 or 10Mi nor a time such as 50ms", text)
}

// judge determines whether the facts in a report meet an expectation.
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
	exact, isMore := strings.CutPrefix(value, ">") // such as >30s
	got, noNumber := parseQuantity(exact)
	want, err := parseQuantity(bound)
	if noNumber != nil || err != nil || got.isTime != want.isTime {
		return false
	}
	if isMore {
		got.value++
	}
	return isLeast && got.value >= want.value || !isLeast && got.value <= want.value
}
