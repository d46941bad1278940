package controllers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"

	"github.com/echo-operator/echo-operator/internal/status"
)

const (
	// forgottenAfter is how long the operator remembers a correction.
	forgottenAfter = 10 * time.Minute
	// contestedBy is the number of corrections after which the status names a field.
	contestedBy = 4
	// longestCorrectionWait is the longest wait before a field is corrected again.
	longestCorrectionWait = 2 * time.Minute
)

// corrections holds, for each Echo, the fields that the operator corrected because another client had changed them. If a client keeps
// changing a field, the operator corrects it less and less often. Otherwise, two controllers that disagree would write without a pause.
type corrections struct {
	Memory[map[string]correction]
}

type correction struct {
	generation int64 // of the Echo
	count      int
	last       time.Time
}

// wait returns the time until the operator corrects a field again. The first two corrections are immediate, and each wait is four times the
// wait before.
func (c correction) wait(echo *v1.Echo, now time.Time) time.Duration {
	if c.generation != echo.Generation || c.count < 2 {
		return 0
	}
	return max(0, min(time.Second<<(2*min(c.count-2, 4)), longestCorrectionWait)-now.Sub(c.last))
}

// contested returns a field that another client keeps changing, or "", and the time until the next field is corrected again.
func (c *corrections) contested(echo *v1.Echo, now time.Time) (contested string, next time.Duration) {
	fields, _ := c.Get(client.ObjectKeyFromObject(echo))
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		wait := fields[field].wait(echo, now)
		if wait > 0 && fields[field].count >= contestedBy {
			contested = cmp.Or(contested, field)
		}
		next = status.Earliest(next, wait)
	}
	return contested, next
}

// corrected records that the operator has corrected a field.
func (c *corrections) corrected(echo *v1.Echo, field string, now time.Time) {
	fields, _ := c.Get(client.ObjectKeyFromObject(echo))
	fields = maps.Clone(fields)
	maps.DeleteFunc(fields, func(_ string, each correction) bool {
		return each.generation != echo.Generation || now.Sub(each.last) > forgottenAfter
	})
	if fields == nil {
		fields = map[string]correction{}
	}
	fields[field] = correction{echo.Generation, fields[field].count + 1, now}
	c.Set(client.ObjectKeyFromObject(echo), fields)
}
