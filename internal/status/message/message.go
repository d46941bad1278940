package message

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of messages, in bytes.
const (
	// MaxStatus is the longest message of a status, which the console shows at the top of a page.
	MaxStatus = 300
	// MaxCheck is the longest message of a check.
	MaxCheck = 1024
	// MaxCondition is the longest message of a condition.
	MaxCondition = 32768
)

const (
	// minQuote is the shortest quote that still explains something, in bytes. A shorter one is left out.
	minQuote = 24
	// minText is the shortest remaining text of a problem, in bytes. Less important sentences are left out before.
	minText = 60
	// ellipsis is what replaces the end of a text that is too long.
	ellipsis = "..."
)

// Problem is what is wrong with an Echo, and what to do about it. The zero value means that nothing is known to be wrong.
type Problem struct {
	// Text says what is wrong, without a full stop.
	Text string
	// Quote is what another component says about it, empty if it says nothing.
	Quote string
	// Advice says what to do, in sentences.
	Advice string
}

// String returns the whole problem as sentences, empty if there is none.
func (p Problem) String() string { return Join(p.sentence(), p.Advice) }

// Headline returns what is wrong as a sentence, without the words of others and without advice. It is empty if nothing is wrong.
func (p Problem) Headline() string { return Sentence(p.Text) }

// sentence returns what is wrong, with the words of others.
func (p Problem) sentence() string {
	if p.Text == "" || p.Quote == "" {
		return Sentence(p.Text)
	}
	return Capital(p.Text) + ": " + Quote(p.Quote) + "."
}

// Short returns a problem and other sentences in at most limit bytes. What does not fit is left out or cut in this order: the words of
// others, the last of the other sentences, the text of the problem.
func Short(limit int, p Problem, others ...string) string {
	p.Text, p.Quote = trimmed(p.Text), plain(p.Quote)
	for {
		left := limit - len(Join(Problem{Text: p.Text, Advice: p.Advice}.String(), Join(others...)))
		quoted := left - len(`: ""`)
		switch {
		case p.Quote != "" && quoted >= min(minQuote, len(p.Quote)):
			p.Quote = elide(p.Quote, quoted)
			return Join(p.String(), Join(others...))
		case left >= 0:
			p.Quote = ""
			return Join(p.String(), Join(others...))
		case len(others) > 0:
			others = others[:len(others)-1]
		case len(p.Text)+left >= minText:
			p.Text, p.Quote = Truncate(p.Text, len(p.Text)+left), ""
		default:
			return Truncate(p.String(), limit)
		}
	}
}

// Join joins the texts that are not empty.
func Join(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" }), " ")
}

// Quote returns the words of another component in quotation marks, without characters that would have to be escaped there.
func Quote(text string) string { return `"` + plain(text) + `"` }

// plain returns a text on one line, without double quotation marks, backslashes and a full stop at the end. Characters that are not seen, such
// as those that change the direction of text, are removed: a container or a Gateway could make a message look like another one.
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
	if strings.HasSuffix(text, ellipsis) {
		return text
	}
	return strings.TrimRight(text, ". ")
}

// Sentence begins a text with a capital letter and ends it with exactly one full stop. It is empty for an empty text.
func Sentence(text string) string {
	text = trimmed(text)
	if text == "" {
		return ""
	}
	return Capital(text) + "."
}

// trimmed returns a text without full stops and spaces at its end.
func trimmed(text string) string { return strings.TrimRight(text, ". \n") }

// Capital returns a text that begins with a capital letter.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// elide shortens a text to at most limit bytes by its middle: an error that others wrapped says at its end what happened.
func elide(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head := max(limit-len(ellipsis), 0) / 2
	tail := max(limit-len(ellipsis)-head, 0)
	return strings.ToValidUTF8(text[:head], "") + ellipsis + strings.ToValidUTF8(text[len(text)-tail:], "")
}

// Truncate shortens a text to at most limit bytes without splitting a character.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:max(limit-len(ellipsis), 0)], "") + ellipsis
}
