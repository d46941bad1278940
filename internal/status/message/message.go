// Package message composes an Echo's messages: first what is wrong, then what to do, and then the number of ready pods. Text from other
// components is in quotation marks, and is shortened if a message would be too long.
package message

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// These are the limits for messages, in bytes.
const (
	MaxStatus    = 300   // of a status message, which the console shows at the top of a page
	MaxCheck     = 1024  // of a check's message
	MaxCondition = 32768 // of a condition's message
	minQuote     = 24    // a shorter part of a quote explains nothing, so the quote is omitted
	minText      = 60    // a problem's text is not cut to fewer bytes
)

// Ellipsis replaces the part that is cut from a string.
const Ellipsis = "..."

// Problem describes what is wrong with an Echo, and what to do about it. The zero value means that no problem is known.
type Problem struct {
	// Text says what is wrong, without a period at the end.
	Text string
	// Quote is another component's report of the problem, or an empty string.
	Quote string
	// Advice says what to do in one or more sentences.
	Advice string
}

// String returns the whole problem as sentences.
func (p Problem) String() string {
	if p.Text == "" || p.Quote == "" {
		return Join(Sentence(p.Text), p.Advice)
	}
	return Join(Capital(p.Text)+": "+Quote(p.Quote)+".", p.Advice)
}

// Headline returns a sentence that says what is wrong, without the quote or the advice. The sentence is empty if nothing is wrong.
func (p Problem) Headline() string { return Sentence(p.Text) }

// Short returns a problem and other sentences in at most limit bytes. If they do not fit, it omits or shortens parts in this order: the
// quote, each other sentence that does not fit after the earlier ones, and the problem's text.
func Short(limit int, p Problem, others ...string) string {
	p.Text, p.Quote = trimmed(p.Text), plain(p.Quote)
	short := Problem{Text: p.Text, Advice: p.Advice}.String()
	if left := limit - len(short); left < 0 {
		if room := len(p.Text) + left; room >= minText {
			return Join(Truncate(Capital(p.Text), room), p.Advice)
		}
		return Truncate(short, limit)
	}
	kept := ""
	for _, other := range others {
		if more := Join(kept, other); len(Join(short, more)) <= limit {
			kept = more
		}
	}
	quoted := limit - len(Join(short, kept)) - len(`: ""`)
	if p.Quote == "" || quoted < min(minQuote, len(p.Quote)) {
		return Join(short, kept)
	}
	p.Quote = elide(p.Quote, quoted)
	return Join(p.String(), kept)
}

// Join joins the nonempty texts with spaces.
func Join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" }), " ")
}

// Quote returns text from another component in quotation marks, without characters that would have to be escaped.
func Quote(text string) string { return `"` + plain(text) + `"` }

// plain returns a string as one line, without double quotation marks, backslashes, or a final period. Invisible characters, such as
// characters that change the direction of text, are removed. With them, a container or a Gateway could make a message look like another.
func plain(text string) string {
	text = strings.NewReplacer(`\"`, "'", `"`, "'", `\`, "").Replace(text)
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if strings.HasSuffix(text, Ellipsis) {
		return text
	}
	return strings.TrimRight(text, ". ")
}

// Sentence begins a string with a capital letter and ends it with exactly one period. The result is empty if the text is empty.
func Sentence(text string) string {
	text = trimmed(text)
	if text == "" {
		return ""
	}
	return Capital(text) + "."
}

// trimmed returns a string without trailing periods or whitespace.
func trimmed(text string) string { return strings.TrimRight(text, ". \n") }

// Capital returns a string with its first letter capitalized.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// elide shortens a string to at most limit bytes by cutting its middle, because the end of a wrapped error describes what happened.
func elide(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := max(limit-len(Ellipsis), 0) / 2
	tail := max(limit-len(Ellipsis)-head, 0)
	return strings.ToValidUTF8(text[:head], "") + Ellipsis + strings.ToValidUTF8(text[len(text)-tail:], "")
}

// Truncate shortens a string to at most limit bytes without splitting a character.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(limit-len(Ellipsis), 0)], "") + Ellipsis
}
