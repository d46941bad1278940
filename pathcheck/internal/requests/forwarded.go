package requests

import (
	"slices"
	"strings"
)

// parseForwarded returns the parameters of the elements of a header Forwarded (RFC 7239, 4), which proxies append to one another. Names are
// in lower case, and values without their quotes.
func parseForwarded(lines []string) []map[string]string {
	var elements []map[string]string
	for _, element := range splitUnquoted(strings.Join(lines, ","), ',') {
		parameters := map[string]string{}
		for _, parameter := range splitUnquoted(element, ';') {
			name, value, _ := strings.Cut(parameter, "=")
			parameters[strings.ToLower(strings.TrimSpace(name))] = strings.Trim(strings.TrimSpace(value), `"`)
		}
		elements = append(elements, parameters)
	}
	return elements
}

// placeOf returns the place of the first element that has a value for a parameter, -1 if there is none.
func placeOf(elements []map[string]string, parameter, value string) int {
	return slices.IndexFunc(elements, func(element map[string]string) bool { return strings.EqualFold(element[parameter], value) })
}

// splitUnquoted splits a text at a separator that is not within quotes.
func splitUnquoted(text string, separator rune) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == separator && !quoted
	})
}
