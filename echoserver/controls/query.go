package controls

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// queryControls returns a query's controls by name, without the prefix. It returns nil if there are none. Other parameters may be
// malformed. queryControls does not split them, because there can be very many of them.
func queryControls(query string) (url.Values, error) {
	var given url.Values
	isStart := true // of a parameter
	for i := range len(query) {
		if isStart && (query[i] == queryPrefix[0] || query[i] == '%') && beginsWithPrefix(query[i:]) {
			pair, _, _ := strings.Cut(query[i:], "&")
			name, value, err := parseControl(pair)
			if err != nil {
				return nil, fmt.Errorf("the query has controls but cannot be parsed (encode ; as %%3B and %% as %%25): %w", err)
			}
			if given == nil {
				given = url.Values{}
			}
			given.Add(name, value)
		}
		isStart = query[i] == '&'
	}
	return given, nil
}

// beginsWithPrefix reports whether a query begins with queryPrefix, whose characters may be escaped.
func beginsWithPrefix(query string) bool {
	for i := range len(queryPrefix) {
		if query == "" {
			return false
		}
		next := [1]byte{query[0]}
		if query = query[1:]; next[0] == '%' {
			if len(query) < 2 {
				return false
			}
			if _, err := hex.Decode(next[:], []byte(query[:2])); err != nil {
				return false
			}
			query = query[2:]
		}
		if next[0] != queryPrefix[i] {
			return false
		}
	}
	return true
}

// parseControl returns the name of a control, without the prefix, and its value.
func parseControl(pair string) (name, value string, err error) {
	if strings.Contains(pair, ";") {
		return "", "", errors.New("invalid semicolon")
	}
	name, value, _ = strings.Cut(pair, "=")
	name, nameErr := url.QueryUnescape(name)
	value, valueErr := url.QueryUnescape(value)
	return strings.TrimPrefix(name, queryPrefix), value, errors.Join(nameErr, valueErr)
}
