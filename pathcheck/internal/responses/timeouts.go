package responses

import (
	"context"
	"time"

	"github.com/echo-operator/echo-operator/pathcheck/internal/fact"
	"github.com/echo-operator/echo-operator/pathcheck/internal/run"
	"github.com/echo-operator/echo-operator/pathcheck/internal/wire"
)

// ExamineTimeouts requests a response with the longest delay that the Echo supports.
func ExamineTimeouts(ctx context.Context, g *run.Group) error {
	const delay = 30 * time.Second
	began := time.Now()
	return g.Examine(ctx, &wire.Request{Path: run.PlainPath + "?echo.delay=" + delay.String(), Timeout: delay + wire.Timeout},
		func(o run.Outcome) fact.Fact { return decideTimeout(time.Since(began), delay, o) })
}

func decideTimeout(took, delay time.Duration, o run.Outcome) fact.Fact {
	const name = "timeouts.response"
	sent := "a request for a response after " + delay.String()
	if o.Refusal == "" {
		return fact.New(name, ">"+delay.String(), sent, "the response")
	}
	return fact.New(name, took.Round(time.Second).String(), sent, fact.DescribeRefusal(o.Refusal))
}
