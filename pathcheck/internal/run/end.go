package run

import (
	"context"
	"errors"

	"github.com/echo-operator/echo-operator/internal/pathverdict"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// Over returns why a run is over, if it is: then the outcome of a request is no fact about the path.
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

// NotApplicable is the error of a group that cannot be tested in any run.
type NotApplicable string

func (n NotApplicable) Error() string { return string(n) }

// DeadlineIn returns the error of a run that takes too long or is interrupted, instead of those that follow from it.
func DeadlineIn(ctx context.Context) error {
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return errInterrupted
	}
	return ErrDeadline
}
