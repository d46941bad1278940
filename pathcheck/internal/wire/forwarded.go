package wire

import "strings"

// Reported returns the values that proxies report in a header of this request: the elements of a list, which may span several lines, or the
// values of a Forwarded parameter.
func (e *Description) Reported(header, parameter string) (values []string) {
	for _, element := range splitUnquoted(strings.Join(e.Values(header), ","), ',') {
		if header == "Forwarded" {
			element = parameterOf(element, parameter)
		}
		if element = strings.TrimSpace(element); element != "" {
			values = append(values, element)
		}
	}
	return values
}

// parameterOf returns the value, without quotes, of a parameter in an element of a Forwarded header (RFC 7239, 4). It also accepts elements
// that are not valid, because pathcheck reports what arrives.
func parameterOf(element, parameter string) string {
	for _, each := range splitUnquoted(element, ';') {
		name, value, _ := strings.Cut(each, "=")
		if strings.EqualFold(strings.TrimSpace(name), parameter) {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
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
