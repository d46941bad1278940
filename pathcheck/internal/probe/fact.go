package probe

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// maxValue, maxList, and maxText are the maximum lengths, in bytes, of a fact's value, of a list of names in it, and of the fact's other
// strings. A check can expect any value.
const maxValue, maxList, maxText = 256, 32, 500

// These are values that many facts share. NotFound means that no try has found a problem, which does not prove that there is none.
const Kept, Changed, Dropped, None, Yes, No, NotFound = "kept", "changed", "dropped", "none", "yes", "no", "not found"

// Fact describes an effect of the path on requests or responses.
type Fact struct {
	Name     string `json:"name"`               // such as request.host
	Value    string `json:"value"`              // such as kept; printable ASCII, for comparisons
	Sent     string `json:"sent,omitempty"`     // what was sent to determine the value
	Received string `json:"received,omitempty"` // what was received
	Refused  string `json:"-"`                  // the next larger value that was tried, which was refused
	Meaning  string `json:"meaning"`
	Mark     string `json:"mark,omitempty"`   // good or bad; empty if neutral
	Detail   bool   `json:"detail,omitempty"` // the fact differs between runs or matters little, so --output=expect omits it
}

// NewFact returns a fact. It truncates the strings and makes them printable, because they contain data from a server.
func NewFact(name, value, sent, received string) Fact {
	value = cmp.Or(Printable(value), "not reported")
	if len(value) > maxValue {
		value = value[:maxValue-len(digest(""))-1] + "#" + digest(value)
	}
	return Fact{Name: name, Value: value, Sent: Cut(Printable(sent), maxText), Received: Cut(Printable(received), maxText)}
}

// choose returns the first value if a condition is true, and the second one otherwise.
func choose(condition bool, first, second string) string {
	if condition {
		return first
	}
	return second
}

// Through returns a phrase that names a forward proxy, or an empty string if there is none.
func Through(proxy string) string { return choose(proxy == "", "", "through the proxy "+proxy) }

// unknown returns a fact without a value.
func unknown(name, reason string) Fact { return Fact{Name: name, Received: reason} }

// Detail marks a fact so that --output=expect omits it.
func Detail(f Fact) Fact {
	f.Detail = true
	return f
}

// NotTested is the name of a group or a fact that could not be fully examined, and the reason.
type NotTested struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`

	Unfinished bool `json:"-"` // another run may be able to test it
}

// refusedByCache means that a cache responded with the Echo's response to an earlier request.
const refusedByCache = "cached"

// refusedBy returns the value for a request that a proxy refuses.
func refusedBy(o Outcome) (value, received string) {
	return "refused " + o.Refusal, "nothing: " + describeRefusal(o.Refusal)
}

// withoutHTTP2 returns the value for a refused request that requires HTTP/2.
func withoutHTTP2(o Outcome) (value, received string) {
	if o.Refusal == wire.NoHTTP2 {
		return No, "nothing: the server does not accept HTTP/2"
	}
	return "refused " + o.Refusal, describeRefusal(o.Refusal)
}

func describeRefusal(refusal string) string {
	if _, err := strconv.Atoi(refusal); err == nil {
		return "a proxy responds with " + refusal + " itself"
	}
	if refusal == refusedByCache {
		return "a proxy responds with an earlier response from the Echo"
	}
	return "a proxy does not respond (" + refusal + ")"
}

// digest returns a short digest, which distinguishes values that look the same after truncation.
func digest(text string) string { return fmt.Sprintf("%.3x", sha256.Sum256([]byte(text))) }

// listed formats names as the value of a fact: none, the names, or their number if the list is too long.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	text := strings.Join(names, ",")
	switch {
	case len(names) == 0:
		return None
	case len(text) > maxList:
		return fmt.Sprintf("%d names #%s", len(names), digest(text))
	}
	return text
}

// Printable returns a string as printable ASCII. It escapes other characters as Go does.
func Printable(text string) string {
	if len(text) > 4*maxText {
		text = text[:4*maxText]
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		text = strconv.QuoteToASCII(text)
		return text[1 : len(text)-1]
	}
	return text
}

func Cut(text string, length int) string {
	if len(text) > length {
		return text[:length-3] + "..."
	}
	return text
}

// formatSize formats a number of bytes as Kubernetes does, such as 16Mi.
func formatSize(bytes int) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return strconv.Itoa(bytes>>20) + "Mi"
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return strconv.Itoa(bytes>>10) + "Ki"
	}
	return strconv.Itoa(bytes)
}
