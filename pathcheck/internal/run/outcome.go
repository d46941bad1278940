package run

import (
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Outcome is the outcome of a request: the Echo's response, or a proxy's refusal.
type Outcome struct {
	*wire.Response        // nil if there was no response
	Refusal        string // such as "404" or "closed"; empty if the Echo responded
}

// Described returns the Echo's description of the request, if any.
func (o Outcome) Described() *wire.Description {
	if o.Refusal != "" {
		return nil
	}
	return o.Description
}
