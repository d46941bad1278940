package pathcheck

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// longSecret is the minimum length at which a secret, or a part of one, is hidden wherever it occurs. A shorter secret is hidden only
	// as a whole word, because it can occur within other words by chance. A string shorter than shortSecret is not hidden, because strings
	// such as 1 or yes occur everywhere.
	longSecret, shortSecret = 8, 4

	hidden = "[hidden]"
)

// secrets holds the strings that must not appear in a report, longest first: header values, their parts, and the escaped forms of both.
type secrets []string

func newSecrets(headers []Header) (all secrets) {
	for _, each := range headers {
		for _, text := range append(partsOf(each.Value), each.Value) {
			quoted := strconv.QuoteToASCII(text)
			all = append(all, text, quoted[1:len(quoted)-1], url.QueryEscape(text), url.PathEscape(text))
		}
	}
	all = slices.DeleteFunc(all, func(text string) bool { return len(text) < shortSecret || !utf8.ValidString(text) }) // reports are ASCII
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return slices.Compact(all)
}

// partsOf returns the parts that proxies extract from a value: a token without its scheme, one of several cookies, the payload of a JWT, or
// the password in Basic authentication.
func partsOf(value string) (parts []string) {
	_, token, _ := strings.Cut(value, " ")
	parts = append(parts, token)
	for cookie := range strings.SplitSeq(value, ";") {
		_, content, _ := strings.Cut(cookie, "=")
		parts = append(parts, content)
	}
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return strings.ContainsRune(" \t,;=&.:\"'", r) }) {
		if len(part) < longSecret {
			continue
		}
		parts = append(parts, part)
		if decoded, err := base64.RawStdEncoding.DecodeString(part); err == nil && utf8.Valid(decoded) {
			_, password, _ := strings.Cut(string(decoded), ":")
			parts = append(parts, string(decoded), password)
		}
	}
	return parts
}

// hide returns a string without secrets, and without the beginning of a secret where the text was truncated.
func (s secrets) hide(text string) string {
	for _, secret := range s {
		if len(secret) < longSecret {
			withNeighbors := regexp.MustCompile(`[0-9A-Za-z]?` + regexp.QuoteMeta(secret) + `[0-9A-Za-z]?`)
			text = withNeighbors.ReplaceAllStringFunc(text, func(match string) string {
				if match == secret { // neither a letter nor a digit is next to it
					return hidden
				}
				return match
			})
			continue
		}
		text = strings.ReplaceAll(text, secret, hidden)
		for _, end := range []string{"...", "#"} { // the marks that probe.Cut and probe.NewFact add to truncated text
			if !strings.Contains(text, end) {
				continue
			}
			for length := len(secret) - 1; length >= shortSecret; length-- {
				text = strings.ReplaceAll(text, secret[:length]+end, hidden+end)
			}
		}
	}
	return text
}

// hide removes secrets from a report. It keeps short words in fact values, because this program chooses these words.
func (r *Report) hide(s secrets) {
	long := slices.DeleteFunc(slices.Clone(s), func(secret string) bool { return len(secret) < longSecret })
	r.Problem = s.hide(r.Problem)
	for i := range r.Facts {
		f := &r.Facts[i]
		f.Value, f.Sent, f.Received = long.hide(f.Value), s.hide(f.Sent), s.hide(f.Received)
	}
	for i := range r.NotTested {
		r.NotTested[i].Reason = s.hide(r.NotTested[i].Reason)
	}
	for i := range r.Expected {
		r.Expected[i].Got, r.Expected[i].Reason = long.hide(r.Expected[i].Got), s.hide(r.Expected[i].Reason)
	}
}
