package fact

import (
	"cmp"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
)

const (
	// MaxValue is the maximum length of the value of a fact, and MaxText of its other texts, in bytes.
	MaxValue, MaxText = pathverdict.MaxValue, 500
)

// The values that many facts have.
const (
	Kept    = "kept"
	Changed = "changed"
	Dropped = "dropped"
	None    = "none"
	Yes, No = "yes", "no"
)

// Fact is something that the path does to requests or responses.
type Fact struct {
	Name     string `json:"name"`               // such as request.host
	Value    string `json:"value"`              // such as kept; printable ASCII, to compare
	Sent     string `json:"sent,omitempty"`     // what was sent to find out
	Received string `json:"received,omitempty"` // what arrived
	Meaning  string `json:"meaning"`
	Detail   bool   `json:"detail,omitempty"` // it differs from run to run or has little weight: --output=expect leaves it out
}

// New returns a fact whose texts are bounded and printable, because they contain what a server has sent.
func New(name, value, sent, received, meaning string) Fact {
	value = cmp.Or(Printable(value), "not reported")
	if len(value) > MaxValue {
		value = value[:MaxValue-len(Digest(""))-1] + "#" + Digest(value)
	}
	return Fact{Name: name, Value: value, Sent: Cut(Printable(sent), MaxText), Received: Cut(Printable(received), MaxText), Meaning: meaning}
}

// Detail marks a fact that --output=expect leaves out.
func Detail(f Fact) Fact {
	f.Detail = true
	return f
}

// NotTested is a group or a fact that could not be examined, or a group not to its end, and why.
type NotTested struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`

	Unfinished bool `json:"-"` // another run may test it
}
