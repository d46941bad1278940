package run

import (
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Outcome is the outcome of a request: the Echo's response, or a description of how a proxy refused the request instead.
type Outcome struct {
	*wire.Response        // nil if there was no response
	Refusal        string // such as "404" or "closed"; empty if the Echo responded
}

// Described returns the Echo's description of the request, or nil.
func (o Outcome) Described() *wire.Description {
	if o.Refusal != "" {
		return nil
	}
	return o.Description
}
