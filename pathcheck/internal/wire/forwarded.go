package wire

import (
	"strings"
)

// ParseForwarded returns the parameters of each element in a Forwarded header (RFC 7239, 4). Names are in lower case, and values have no
// quotes.
func ParseForwarded(lines []string) []map[string]string {
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

// Reported returns the values that proxies report in a header of this request: the elements of a list, which may span several lines, or the
// values of a Forwarded parameter.
func (e *Description) Reported(header, parameter string) (values []string) {
	if header == "Forwarded" {
		for _, element := range ParseForwarded(e.Values(header)) {
			if value := element[parameter]; value != "" {
				values = append(values, value)
			}
		}
		return values
	}
	for _, line := range e.Values(header) {
		for part := range strings.SplitSeq(line, ",") {
			if part = strings.TrimSpace(part); part != "" {
				values = append(values, part)
			}
		}
	}
	return values
}

// splitUnquoted splits a string at a separator that is not within quotes.
func splitUnquoted(text string, separator rune) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == separator && !quoted
	})
}
