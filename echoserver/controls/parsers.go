package controls

import (
	"fmt"
	"slices"
)

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
