package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// maxDelay is the longest delay of a response.
	maxDelay = 30 * time.Second
	// maxSize is the maximum size that a request can set, in bytes.
	maxSize = 16 << 20
	// maxFailures is the maximum number of failures before a fault ends.
	maxFailures = 1000
)

func parseStatus(text string) (int, error) { return parseWhole(text, 200, 599) }

func parsePercentage(text string) (int, error) { return parseWhole(text, 1, 100) }

func parseFailures(text string) (int, error) { return parseWhole(text, 1, maxFailures) }

func parseWhole(text string, least, most int) (int, error) {
	number, err := strconv.Atoi(text)
	if err != nil || number < least || number > most {
		return 0, fmt.Errorf("%.100q is not a whole number from %d to %d", text, least, most)
	}
	return number, nil
}

func parseDelay(text string) (time.Duration, error) {
	delay, err := time.ParseDuration(text)
	if err != nil || delay < 0 || delay > maxDelay {
		return 0, fmt.Errorf("%.100q is not a duration from 0s to %s, such as 500ms", text, maxDelay)
	}
	return delay, nil
}

// setDelay sets the delay to a duration such as 2s, or to a range such as 100ms-2s.
func (c *controls) setDelay(text string) error {
	shortest, longest, isRange := strings.Cut(text, "-")
	if !isRange {
		c.delayUpTo = 0
		return parsedInto(&c.delay, parseDelay)(text)
	}
	err := errors.Join(parsedInto(&c.delay, parseDelay)(shortest), parsedInto(&c.delayUpTo, parseDelay)(longest))
	if err != nil || c.delayUpTo < c.delay {
		return fmt.Errorf("%.100q is neither a duration from 0s to %s nor a range such as 100ms-2s", text, maxDelay)
	}
	return nil
}

func parseSize(text string) (*int, error) {
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 || size > maxSize {
		return nil, fmt.Errorf("%.100q is not a whole number of bytes from 0 to %d", text, maxSize)
	}
	return &size, nil
}

// parseDefaultHeaders parses the headers that are added to every response.
func parseDefaultHeaders(text string) ([]header, error) {
	var headers []header
	if err := json.Unmarshal([]byte(text), &headers); err != nil {
		return nil, fmt.Errorf(`not a list such as [{"name": "Retry-After", "value": "7"}]: %w`, err)
	}
	for _, each := range headers {
		if err := errors.Join(checkSyntax(each), checkFraming(each.Name)); err != nil {
			return nil, err
		}
	}
	return headers, nil
}
