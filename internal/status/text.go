package status

import (
	"fmt"
	"strings"
)

const (
	// maxMessage is the longest message of a condition, in bytes.
	maxMessage = 32768
	// maxStatusMessage is the longest message of a status, in bytes. The conditions have the whole message.
	maxStatusMessage = 300
	// maxCheckMessage is the longest message of a check, in bytes.
	maxCheckMessage = 1024
)

// ConditionMessage returns a message as it fits into a condition.
func ConditionMessage(text string) string { return truncate(text, maxMessage) }

// ShortMessage returns a message as it fits into a status next to its conditions, which have it as a whole.
func ShortMessage(text string) string { return truncate(text, maxStatusMessage) }

// CheckMessage returns a message as it fits into the result of a check.
func CheckMessage(text string) string { return truncate(text, maxCheckMessage) }

// truncate shortens a text to at most limit bytes without splitting a character.
func truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("...")], "") + "..."
}

// Sentence ends a text with exactly one full stop.
func Sentence(text string) string { return strings.TrimRight(text, ". \n") + "." }

// plural returns a number and what is counted, such as "1 pod" or "2 pods".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}
