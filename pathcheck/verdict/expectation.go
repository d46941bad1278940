package verdict

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Expectation is a requirement for a fact. If the fact is unknown, the expectation is neither met nor unmet.
type Expectation struct {
	Fact     string   `json:"fact"`
	Operator string   `json:"operator,omitempty"` // empty means In
	Values   []string `json:"values"`
}

// These are the operators. AtLeast and AtMost compare numbers and times.
const In, NotIn, AtLeast, AtMost = "In", "NotIn", "AtLeast", "AtMost"

// sign returns the form of an operator on a command line, or an empty string if there is no such operator.
func sign(operator string) string {
	return map[string]string{"": "=", In: "=", NotIn: "!=", AtLeast: ">=", AtMost: "<="}[operator]
}

// ParseExpectation parses an expectation such as fact=value, fact!=value|value, fact>=number, or fact<=number.
func ParseExpectation(text string) (Expectation, error) {
	parts := regexp.MustCompile(`(?s)^([^=]*?)([!<>]?=)(.*)$`).FindStringSubmatch(text)
	if parts == nil {
		return Expectation{}, fmt.Errorf("%q is not an expectation such as client.address=kept or body.max>=10Mi", text)
	}
	e := Expectation{Fact: strings.TrimSpace(parts[1]), Values: strings.Split(parts[3], "|"),
		Operator: map[string]string{"=": In, "!=": NotIn, ">=": AtLeast, "<=": AtMost}[parts[2]]}
	for i, value := range e.Values {
		e.Values[i] = strings.TrimSpace(value)
	}
	if err := e.Validate(); err != nil {
		return e, fmt.Errorf("%q: %w", text, err)
	}
	return e, nil
}

// String returns text that ParseExpectation parses as the expectation.
func (e Expectation) String() string { return e.Fact + sign(e.Operator) + strings.Join(e.Values, "|") }

// Want returns what follows the fact on a command line, without a single equals sign.
func (e Expectation) Want() string { return strings.TrimPrefix(e.String()[len(e.Fact):], "=") }

var (
	// nameOfFact matches names such as client.address or client.spoofable[X-Real-IP].
	nameOfFact = regexp.MustCompile(`^[a-zA-Z0-9.]+(\[[-a-zA-Z0-9_.:/]+\])?$`)
	// plain matches printable ASCII that contains no |, and does not begin or end with a space.
	plain = regexp.MustCompile(`^[!-{}~]([ -{}~]*[!-{}~])?$`)
	bound = regexp.MustCompile(`^-?[0-9]+(Ki|Mi|Gi|ms|s|m|h)?$`)
	// likeBound does not match >30s, which is the value of a fact.
	likeBound = regexp.MustCompile(`^=?[<>](=| ?[0-9]+([KMG]i)?$)`)
)

func isFact(name string) bool { return len(name) <= MaxName && nameOfFact.MatchString(name) }

// Validate returns an error that explains why an expectation is not valid.
func (e Expectation) Validate() error {
	isBound := e.Operator == AtLeast || e.Operator == AtMost
	switch {
	case !isFact(e.Fact):
		return fmt.Errorf("%q is not the name of a fact, such as client.address", e.Fact)
	case sign(e.Operator) == "":
		return fmt.Errorf("the operator %q is not In, NotIn, AtLeast, or AtMost", e.Operator)
	case isBound && len(e.Values) != 1:
		return fmt.Errorf("%s requires exactly one value", e.Operator)
	}
	for _, value := range e.Values {
		_, _, err := parseQuantity(value)
		switch {
		case isBound && (err != nil || !bound.MatchString(value)):
			return fmt.Errorf("%q is not a whole number with an optional unit, such as 14, 10Mi, or 30s", value)
		case !isBound && !plain.MatchString(value):
			return fmt.Errorf("the value %q is empty, begins or ends with a space, or contains | or characters other than printable ASCII", value)
		case !isBound && likeBound.MatchString(value):
			return fmt.Errorf("the value %q is a bound: use the operator AtLeast or AtMost (on a command line, >= or <=)", value)
		}
	}
	return nil
}

// Exists returns an error unless pathcheck reports the expectation's fact, or the fact whose member it is.
func (e Expectation) Exists() error {
	name, _, _ := strings.Cut(e.Fact, "[")
	if slices.Contains(knownFacts(), name) {
		return nil
	}
	group, _, _ := strings.Cut(name, ".")
	similar := slices.DeleteFunc(knownFacts(), func(fact string) bool { return !strings.HasPrefix(fact+".", group+".") })
	return fmt.Errorf("there is no fact %q: the documentation lists the facts, such as %s", e.Fact,
		strings.Join(append(similar, "client.address")[:max(1, len(similar))], ", "))
}

// Met reports whether the value of a fact meets a valid expectation.
func (e Expectation) Met(value string) bool {
	if e.Operator != AtLeast && e.Operator != AtMost {
		return slices.Contains(e.Values, value) != (e.Operator == NotIn)
	}
	exact, isMore := strings.CutPrefix(value, ">") // such as >30s
	got, gotTime, noNumber := parseQuantity(exact)
	want, wantTime, err := parseQuantity(e.Values[0])
	if noNumber != nil || err != nil || gotTime != wantTime {
		return false
	}
	if isMore {
		got++
	}
	return e.Operator == AtLeast && got >= want || e.Operator == AtMost && got <= want
}

// IsTime reports whether the value of a fact is a time, such as 50ms.
func IsTime(value string) bool {
	_, isTime, err := parseQuantity(value)
	return isTime && err == nil
}

// parseQuantity parses a number such as 14 or 10Mi, or a time such as 50ms, which it returns in nanoseconds.
func parseQuantity(text string) (value int64, isTime bool, err error) {
	number, factor := text, int64(1)
	for suffix, each := range map[string]int64{"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			number, factor = rest, each
		}
	}
	if value, err := strconv.ParseInt(number, 10, 33); err == nil { // 33 bits, so that the product with the factor fits into 64 bits
		return value * factor, false, nil
	}
	d, err := time.ParseDuration(text)
	return int64(d), true, err
}
