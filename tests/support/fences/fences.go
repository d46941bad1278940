// Package fences reads the fenced commands in the documentation. Test suites run them, and a check verifies that each is run.
package fences

import (
	"regexp"
	"slices"
	"strings"
)

// Fence is a fenced block on a page.
type Fence struct {
	// Line is the line number of the fence's first line, starting from 1.
	Line     int
	Language string
	// Text is the content of the fence, without the indentation that a surrounding list adds.
	Text string
	// Reason is why the commands are not run, according to the fence's mark.
	Reason string
}

// Parse returns the fences of a page, in order.
func Parse(page string) []Fence {
	mark := regexp.MustCompile(`^ *<!-- not run: (.*) -->$`)
	opening := regexp.MustCompile("^( *)```(.*)$")
	var all []Fence
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		found := opening.FindStringSubmatch(lines[i])
		if found == nil {
			continue
		}
		f := Fence{Line: i + 1, Language: found[2]}
		if i > 0 {
			if marked := mark.FindStringSubmatch(lines[i-1]); marked != nil {
				f.Reason = marked[1]
			}
		}
		for i++; i < len(lines) && lines[i] != found[1]+"```"; i++ {
			f.Text += strings.TrimPrefix(lines[i], found[1]) + "\n"
		}
		all = append(all, f)
	}
	return all
}

// HasCommands reports whether a fence contains commands: a script, or a terminal session in which "$ " precedes each command.
func (f *Fence) HasCommands() bool {
	return slices.Contains([]string{"sh", "bash", "console", "shell"}, f.Language) || f.isSession()
}

func (f *Fence) isSession() bool { return strings.HasPrefix(f.Text, "$ ") }

// After returns the first commands after the given words on a page, or nothing if there are none.
func After(page, words string) []Fence {
	before, _, found := strings.Cut(page, words)
	if !found {
		return nil
	}
	line := strings.Count(before, "\n") + strings.Count(words, "\n") + 1
	for _, f := range Parse(page) {
		if f.Line > line && f.HasCommands() {
			return []Fence{f}
		}
	}
	return nil
}

// Section returns the fences below a heading, up to the next heading of the same or a higher level.
func Section(page, heading string) []Fence {
	before, rest, found := strings.Cut("\n"+page, "\n"+heading+"\n")
	if !found {
		return nil
	}
	for level := strings.Index(heading, " "); level > 0; level-- {
		rest, _, _ = strings.Cut(rest, "\n"+heading[:level]+" ")
	}
	first := strings.Count(before, "\n") + 1
	last := first + strings.Count(rest, "\n")
	return slices.DeleteFunc(Parse(page), func(f Fence) bool { return f.Line < first || f.Line > last })
}

// Step is a script and the output that the page shows for the script. The output may be empty.
type Step struct{ Commands, Output string }

// Steps returns the commands in all fences without a "not run" mark. Each step includes the output in the session or the next fence.
func Steps(all []Fence) []Step {
	var steps []Step
	for i, f := range all {
		switch {
		case f.Reason != "":
		case f.isSession():
			for session := range strings.SplitSeq(strings.TrimPrefix(f.Text, "$ "), "\n$ ") {
				commands, output := cutCommand(session)
				steps = append(steps, Step{commands, output})
			}
		case f.HasCommands():
			step := Step{Commands: f.Text}
			if i+1 < len(all) && all[i+1].Language == "text" && !all[i+1].isSession() {
				step.Output = all[i+1].Text
			}
			steps = append(steps, step)
		}
	}
	return steps
}

// cutCommand separates a command from its output. A backslash at the end of a line continues the command on the next line.
func cutCommand(session string) (command, output string) {
	for {
		line, rest, _ := strings.Cut(session, "\n")
		command, session = command+line+"\n", rest
		if !strings.HasSuffix(line, `\`) {
			return command, session
		}
	}
}

// Missing returns the first line of output that the page shows but the step did not print, or "" if there is none. It accepts any
// addresses, times, versions, identifiers, and generated pod names, which differ between runs. "..." on the page stands for omitted text.
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
