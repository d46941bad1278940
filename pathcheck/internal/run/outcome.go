package run

import (
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Outcome is what came of a request: the response of the Echo, or how a proxy refused it instead.
type Outcome struct {
	*wire.Response        // nil if there was none
	Refusal        string // such as "404" or "closed"; empty if the Echo responded
}

// Described returns how the Echo described the request, or nil.
func (o Outcome) Described() *wire.Description {
	if o.Refusal != "" {
		return nil
	}
	return o.Description
}
