package fact

import (
	"cmp"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
)

const (
	// MaxValue and MaxText are the maximum lengths, in bytes, of a fact's value and of the fact's other strings.
	MaxValue, MaxText = pathverdict.MaxValue, 500
)

// These are values that many facts share.
const (
	Kept    = "kept"
	Changed = "changed"
	Dropped = "dropped"
	None    = "none"
	Yes, No = "yes", "no"
)

// Fact describes an effect of the path on requests or responses.
type Fact struct {
	Name     string `json:"name"`               // such as request.host
	Value    string `json:"value"`              // such as kept; printable ASCII, for comparisons
	Sent     string `json:"sent,omitempty"`     // what was sent to determine the value
	Received string `json:"received,omitempty"` // what was received
	Meaning  string `json:"meaning"`
	Detail   bool   `json:"detail,omitempty"` // the fact differs between runs or matters little, so --output=expect omits it
}

// New returns a fact from the table. It truncates the strings and makes them printable, because they contain data from a server.
func New(name, value, sent, received string) Fact {
	value = cmp.Or(Printable(value), "not reported")
	if len(value) > MaxValue {
		value = value[:MaxValue-len(Digest(""))-1] + "#" + Digest(value)
	}
	return Fact{Name: name, Value: value, Sent: Cut(Printable(sent), MaxText), Received: Cut(Printable(received), MaxText),
		Meaning: meaning(name)}
}

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
