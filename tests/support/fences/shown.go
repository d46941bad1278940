package fences

import (
	"regexp"
	"strings"
)

// Missing returns the first line of output that the page shows but the step did not print, or "" if there is none. Missing accepts any
// addresses, times, versions, identifiers, and generated pod names, because they differ between runs. "..." on the page stands for omitted
// text.
func (s *Step) Missing(output string) string {
	for line := range strings.Lines(s.Output) {
		line = strings.TrimSpace(line)
		if line == "" || line == "..." {
			continue
		}
		if !regexp.MustCompile(`(?m)^\s*` + pattern(line) + `,?\s*$`).MatchString(output) {
			return line
		}
	}
	return ""
}

// pattern returns a regular expression that matches a line with any values in its variable parts.
func pattern(line string) string {
	differs := regexp.MustCompile(`\.\.\.|\d+\.\d+\.\d+\.\d+(:\d+)?|\d{4}-\d\d-\d\dT[\d:.]+Z|\bv0\.1\.0\b|\b\d+(ms|s|m)\b|` +
		`"[0-9a-f]{16}"|-[0-9a-z]{8,10}-[0-9a-z]{5}\b|\s+`)
	result, end := "", 0
	for _, at := range differs.FindAllStringIndex(line, -1) {
		result += regexp.QuoteMeta(line[end:at[0]])
		end = at[1]
		switch part := line[at[0]:end]; {
		case part == "...":
			result += ".*"
		case strings.TrimSpace(part) == "":
			result += `\s+`
		default:
			result += `\S+`
		}
	}
	return result + regexp.QuoteMeta(strings.TrimSuffix(line[end:], ","))
}
