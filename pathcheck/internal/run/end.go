package run

import (
	"context"
	"errors"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Over returns the reason why a run is over, or nil if it is not over. After a run is over, the outcome of a request reveals nothing about
// the path.
func Over(ctx context.Context, err error) error {
	if wire.IsLimit(err) {
		return err
	}
	return DeadlineIn(ctx)
}

var (
	ErrDeadline    = errors.New(pathverdict.DeadlinePassed)
	errInterrupted = errors.New("the run was interrupted")
)

// NotApplicable is the error for a group that cannot be tested in any run.
type NotApplicable string

func (n NotApplicable) Error() string { return string(n) }

// DeadlineIn returns an error if a run took too long or was interrupted. Reports contain this error instead of its consequences.
func DeadlineIn(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return errInterrupted
	}
	return ErrDeadline
}
