package controls

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxDelay is the maximum delay of a response.
	MaxDelay = 30 * time.Second
	// MaxSize is the maximum response size, in bytes, that a request can set.
	MaxSize = 16 << 20
	// maxFailures is the maximum value of the failures field of a fault and of the failures control.
	maxFailures = 1000
)

// ParseStatus parses a response status.
func ParseStatus(text string) (int, error) { return ParseWhole(text, 200, 599) }

func parsePercentage(text string) (int, error) { return ParseWhole(text, 1, 100) }

func parseFailures(text string) (int, error) { return ParseWhole(text, 1, maxFailures) }

// ParseWhole parses an integer within bounds.
func ParseWhole(text string, least, most int) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < least || number > most {
		return 0, fmt.Errorf("%.100q is not a whole number from %d to %d", text, least, most)
	}
	return number, nil
}

// ParseDelay parses a response delay.
func ParseDelay(text string) (time.Duration, error) {
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 || delay > MaxDelay {
		return 0, fmt.Errorf("%.100q is not a duration from 0s to %s, such as 500ms", text, MaxDelay)
	}
	return delay, nil
}

// setDelay sets the delay to a duration such as 2s, or to a range such as 100ms-2s.
func (c *Controls) setDelay(values []string, _ Policy) error {
	text := values[0]
	shortest, longest, isRange := strings.Cut(text, "-")
	if !isRange {
		c.delayUpTo = 0
		return Into(&c.Delay, ParseDelay)(text)
	}
	err := errors.Join(Into(&c.Delay, ParseDelay)(shortest), Into(&c.delayUpTo, ParseDelay)(longest))
	if err != nil || c.delayUpTo < c.Delay {
		return fmt.Errorf("%.100q is neither a duration from 0s to %s nor a range such as 100ms-2s", text, MaxDelay)
	}
	return nil
}

func parseSize(text string) (*int, error) {
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 || size > MaxSize {
		return nil, fmt.Errorf("%.100q is not a whole number of bytes from 0 to %d", text, MaxSize)
	}
	return &size, nil
}

// ParseDefaultHeaders parses the headers that are added to every response.
func ParseDefaultHeaders(text string) ([]Header, error) {
	var headers []Header
	if err := decodeStrictly([]byte(text), &headers); err != nil {
		return nil, fmt.Errorf(`not a list such as [{"name": "Retry-After", "value": "7"}]: %w`, err)
	}
	for _, each := range headers {
		if err := errors.Join(checkSyntax(each), checkFraming(each.Name)); err != nil {
			return nil, err
		}
	}
	return headers, nil
}

// Into returns a function that parses a string and stores the result in target.
func Into[T any](target *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*target, err = parse(text)
		return err
	}
}

// OneOf returns a function that parses one of several values. Errors consist of the quoted text, followed by the given reason.
func OneOf[T ~string](reason string, values ...T) func(string) (T, error) {
	return func(text string) (T, error) {
		if slices.Contains(values, T(text)) {
			return T(text), nil
		}
		return "", fmt.Errorf("%.100q %s", text, reason)
	}
}

// ParseBoolean parses "true" and "false".
func ParseBoolean(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", text)
}
