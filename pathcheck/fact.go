// Package pathcheck finds out what the way to an Echo does to requests and responses: it sends requests to a URL, and compares what the echo
// server behind it received with what was sent.
package pathcheck

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
)

const (
	// maxValue is the maximum length of the value of a fact, and maxText that of its other texts, in bytes.
	maxValue, maxText = pathverdict.MaxValue, 500
)

// The values that many facts have.
const (
	kept    = "kept"
	changed = "changed"
	dropped = "dropped"
	none    = "none"
	yes, no = "yes", "no"
)

// Fact is something that the way does.
type Fact struct {
	Name     string `json:"name"`               // such as request.host
	Value    string `json:"value"`              // such as kept; printable ASCII, to compare
	Sent     string `json:"sent,omitempty"`     // what was sent to find out
	Received string `json:"received,omitempty"` // what arrived
	Meaning  string `json:"meaning"`
	Detail   bool   `json:"detail,omitempty"` // it differs from run to run or has little weight: --output=expect leaves it out
}

// newFact returns a fact whose texts are bounded and printable, because they contain what a server has sent.
func newFact(name, value, sent, received, meaning string) Fact {
	value = cmp.Or(printable(value), "not told")
	if len(value) > maxValue {
		value = value[:maxValue-len(digestOf(""))-1] + "#" + digestOf(value)
	}
	return Fact{Name: name, Value: value, Sent: cut(printable(sent), maxText), Received: cut(printable(received), maxText), Meaning: meaning}
}

// detail marks a fact that --output=expect leaves out.
func detail(f Fact) Fact {
	f.Detail = true
	return f
}

// refusedFact returns the fact that the way refuses a request, or that its response tells nothing if there is no refusal.
func refusedFact(name, sent, refusal, meaning string) Fact {
	if refusal == "" { // the Echo responded
		return newFact(name, "not told", sent, "a response that does not describe the request", meaning)
	}
	return newFact(name, "refused "+refusal, sent, "nothing: "+describeRefusal(refusal), meaning)
}

func describeRefusal(refusal string) string {
	if _, err := strconv.Atoi(refusal); err == nil {
		return "the way responds with " + refusal + " itself"
	}
	if refusal == refusedByCache {
		return "the way responds with an earlier response of the Echo"
	}
	return "the way responds with nothing (" + refusal + ")"
}

// digestOf returns a short digest, by which two long values can be told apart.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:6]
}

// listed returns names as a value: none, the names, or their number if they are too long.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	text := strings.Join(names, ",")
	switch {
	case len(names) == 0:
		return none
	case len(text) > maxValue:
		return fmt.Sprintf("%d names #%s", len(names), digestOf(text))
	}
	return text
}

// printable returns a text of printable ASCII: other characters are escaped as in Go.
func printable(text string) string {
	if len(text) > 4*maxText {
		text = text[:4*maxText]
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		text = strconv.QuoteToASCII(text)
		return text[1 : len(text)-1]
	}
	return text
}

func cut(text string, length int) string {
	if len(text) > length {
		return text[:length-3] + "..."
	}
	return text
}

// size returns a number of bytes as in Kubernetes, such as 16Mi.
func size(bytes int) string {
	switch {
	case bytes >= 1<<20 && bytes%(1<<20) == 0:
		return strconv.Itoa(bytes>>20) + "Mi"
	case bytes >= 1<<10 && bytes%(1<<10) == 0:
		return strconv.Itoa(bytes>>10) + "Ki"
	}
	return strconv.Itoa(bytes)
}
