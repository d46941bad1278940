package main

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// grpcControls are the controls that apply to calls of the echo services. The others apply only to HTTP.
type grpcControls struct {
	code  grpcCode // 0 means that of the call
	delay time.Duration
}

// with returns the controls of a call, with g as the defaults.
func (g grpcControls) with(metadata http.Header) (grpcControls, error) {
	for name, set := range map[string]func(string) error{
		"X-Echo-Grpc-Status": parsedInto(&g.code, parseGRPCCode),
		"X-Echo-Delay":       parsedInto(&g.delay, parseDelay),
	} {
		values := metadata[name]
		if len(values) == 0 {
			continue
		}
		err := set(values[0])
		if len(values) > 1 {
			err = errors.New("specified more than once")
		}
		if err != nil {
			return g, grpcErrorf(grpcInvalidArgument, "%s: %v", strings.ToLower(name), err)
		}
	}
	return g, nil
}

// applied returns the value of X-Echo-Applied, or "" if no control is set.
func (g grpcControls) applied() string {
	var parts []string
	if g.code != grpcOK {
		parts = append(parts, "grpc-status="+strconv.Itoa(int(g.code)))
	}
	if g.delay > 0 {
		parts = append(parts, "delay="+g.delay.Round(time.Millisecond).String())
	}
	return strings.Join(parts, ", ")
}

// control applies the controls of a call before its first message is read. It returns an error if the call ends with that.
func (c *grpcCall) control(ctx context.Context) error {
	wanted := grpcControls{delay: c.response.delay}
	if c.controls != controlsOff {
		var err error
		if wanted, err = wanted.with(c.request.Header); err != nil {
			return err
		}
	}
	if applied := wanted.applied(); applied != "" {
		c.exchange.Header().Set("X-Echo-Applied", applied)
		c.metrics.appliedToCall(wanted)
	}
	if err := c.holdCall(ctx, wanted.delay); err != nil {
		return err
	}
	if wanted.code != grpcOK {
		return grpcErrorf(wanted.code, "requested by x-echo-grpc-status")
	}
	return nil
}

// holdCall waits for the delay.
func (c *grpcCall) holdCall(ctx context.Context, delay time.Duration) error {
	err := c.awaitDelay(ctx, c.exchange, delay)
	setDeadlines(c.exchange, time.Time{}) // each message has deadlines of its own
	switch {
	case errors.Is(err, errTooManyDelays):
		return grpcErrorf(grpcResourceExhausted, "%v", err)
	case errors.Is(err, errOverBudget):
		c.metrics.limited(limitMemory)
		return errNoMemory
	}
	return err
}

func parseGRPCCode(text string) (grpcCode, error) {
	code, err := strconv.Atoi(text)
	if err != nil || code < 0 || code >= len(grpcCodeNames()) {
		return 0, errors.New(strconv.Quote(text) + " is not a whole number from 0 to 16")
	}
	return grpcCode(code), nil
}
