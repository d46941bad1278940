package echo

import (
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/controllers"
)

const (
	// forgottenAfter is how long the operator remembers a correction.
	forgottenAfter = 10 * time.Minute
	// contestedBy is the number of corrections after which the status names a field.
	contestedBy = 4
	// longestCorrectionWait is the longest wait before a field is corrected again.
	longestCorrectionWait = 2 * time.Minute
)

// corrections holds, for each Echo, the last field that the operator corrected because another client had changed it. If the client keeps
// changing the field, the operator corrects it less and less often. Otherwise, two controllers that disagree would write without a pause.
type corrections struct{ controllers.Memory[correction] }

type correction struct {
	generation int64 // of the Echo
	field      string
	count      int
	last       time.Time
}

// held returns the last correction, and the time until the operator corrects the same field again. The first two corrections are immediate,
// and each wait is four times the wait before.
func (c *corrections) held(echo *v1.Echo, now time.Time) (last correction, wait time.Duration) {
	last, _ = c.Get(client.ObjectKeyFromObject(echo))
	if last.generation != echo.Generation || last.count < 2 {
		return last, 0
	}
	wait = min(time.Second<<(2*min(last.count-2, 4)), longestCorrectionWait) - now.Sub(last.last)
	return last, max(wait, 0)
}

// corrected records that the operator has corrected a field.
func (c *corrections) corrected(echo *v1.Echo, field string, now time.Time) {
	last, _ := c.Get(client.ObjectKeyFromObject(echo))
	if last.generation != echo.Generation || last.field != field || now.Sub(last.last) > forgottenAfter {
		last = correction{generation: echo.Generation, field: field}
	}
	last.count, last.last = last.count+1, now
	c.Set(client.ObjectKeyFromObject(echo), last)
}
