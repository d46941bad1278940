package mustgather

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/echo-operator/echo-operator/internal/kinds"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

const (
	// redacted replaces omitted values.
	redacted = "<redacted>"
	// leastSecret is the minimum length of a secret that is replaced in strings. Shorter values, such as true and 8080, are too common.
	leastSecret = 6
	// leastLine is the minimum length of a line of a secret that is replaced on its own. Shorter lines, such as server:, are too common.
	leastLine = 10
)

//go:embed kept.yaml
var keptFields []byte

// redactor determines which fields may leave the cluster: only the fields that are listed in kept.yaml or in the table of kinds.
type redactor struct {
	// kinds holds the rules by kind. A rule is either an action or a map of rules for the nested fields.
	kinds map[string]any
	// secrets holds the forms of the values of fields whose action is "secret". The texts replacer redacts these forms. It is nil if secrets
	// were added since its last use.
	secrets map[string]bool
	texts   *strings.Replacer
	// byStart and byEnd hold the forms by their first and last leastSecret bytes, and mostSecret is the length of the longest form.
	byStart, byEnd map[string][]string
	mostSecret     int
	// learning is true while secrets are being collected. Nothing is written during this time, so no strings need to be redacted.
	learning bool
}

func newRedactor() (*redactor, error) {
	var file struct{ Children, Kinds map[string]any }
	if err := yaml.Unmarshal(keptFields, &file); err != nil {
		return nil, fmt.Errorf("kept.yaml: %w", err)
	}
	for _, kind := range kinds.Table() {
		if len(kind.Kept) > 0 {
			file.Kinds[kind.Kind] = ruleOf(kind, file.Children)
		}
	}
	return &redactor{kinds: file.Kinds, secrets: map[string]bool{}}, nil
}

// ruleOf returns the rule for a kind whose row in the table names the fields to keep.
func ruleOf(kind kinds.Kind, special map[string]any) map[string]any {
	rule := map[string]any{}
	for _, field := range append([]string{"apiVersion", "kind", "metadata"}, kind.Kept...) {
		rule[field] = "keep"
		if special[field] != nil {
			rule[field] = special[field]
		}
	}
	return rule
}

// learn records the secrets in an object. It must be called before any text is written.
func (r *redactor) learn(o *object) {
	r.learning = true
	r.value(o.Object, r.kinds[o.GetKind()])
	r.learning = false
}

// object returns the part of an object that may be written.
func (r *redactor) object(o *object) object {
	fields, _ := r.value(o.Object, r.kinds[o.GetKind()]).(map[string]any)
	return object{Object: fields}
}

// value returns the part of a value that a rule keeps.
func (r *redactor) value(value, rule any) any {
	if rules, isMap := rule.(map[string]any); isMap {
		return r.fields(value, rules)
	}
	text, isText := value.(string)
	switch {
	case rule == "keep":
		return value
	case rule == "text" && isText && !r.learning:
		return r.text(text)
	case rule == "secret":
		return r.secret(value)
	}
	return redacted
}

// fields applies rules to the fields of a map, or to each item of a list.
func (r *redactor) fields(value any, rules map[string]any) any {
	switch value := value.(type) {
	case []any:
		kept := make([]any, 0, len(value))
		for _, item := range value {
			kept = append(kept, r.fields(item, rules))
		}
		return kept
	case map[string]any:
		kept := make(map[string]any, len(value))
		for name, field := range value {
			rule, named := rules[name]
			if !named {
				rule = rules["*"]
			}
			if rule != "drop" {
				kept[name] = r.value(field, rule)
			}
		}
		return kept
	}
	return redacted
}

// secret redacts a value, and records it so that it is also redacted in all strings. If the value is a map, the names of its fields are
// kept.
func (r *redactor) secret(value any) any {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			r.secret(item)
		}
	case map[string]any:
		kept := make(map[string]any, len(value))
		for name, field := range value {
			kept[name] = r.secret(field)
		}
		return kept
	case string:
		for _, form := range formsOf(value) {
			if len(form) >= leastSecret && !r.secrets[form] {
				r.secrets[form] = true
				r.texts = nil
			}
		}
	}
	return redacted
}

// formsOf returns the forms in which a secret and its long lines occur in texts: unchanged, escaped as in logs, and as quoted by the
// operator.
func formsOf(secret string) []string {
	forms := []string{secret}
	lines := slices.DeleteFunc(strings.Split(secret, "\n"), func(line string) bool { return len(line) < leastLine })
	for _, part := range append(lines, secret) {
		part = strings.TrimSpace(part)
		escaped, quoted := strconv.Quote(part), message.Quote(part)
		forms = append(forms, part, escaped[1:len(escaped)-1], quoted[1:len(quoted)-1])
	}
	return forms
}

// text redacts the recorded secrets in a string, and their parts next to each place where a message was cut.
func (r *redactor) text(text string) string {
	if r.texts == nil {
		r.index()
	}
	parts := strings.Split(r.texts.Replace(text), message.Ellipsis)
	for i := range parts {
		if i < len(parts)-1 {
			parts[i] = r.redactEnd(parts[i])
		}
		if i > 0 {
			parts[i] = r.redactBeginning(parts[i])
		}
	}
	return strings.Join(parts, message.Ellipsis)
}

// index prepares for redacting the recorded secrets.
func (r *redactor) index() {
	secrets := slices.SortedFunc(maps.Keys(r.secrets), func(a, b string) int { return len(b) - len(a) }) // one secret may contain another
	var pairs []string
	r.byStart, r.byEnd, r.mostSecret = map[string][]string{}, map[string][]string{}, 0
	for _, secret := range secrets {
		start, end := secret[:leastSecret], secret[len(secret)-leastSecret:]
		r.byStart[start], r.byEnd[end] = append(r.byStart[start], secret), append(r.byEnd[end], secret)
		r.mostSecret = max(r.mostSecret, len(secret))
		pairs = append(pairs, secret, redacted)
	}
	r.texts = strings.NewReplacer(pairs...)
}

// redactEnd redacts the beginning of a secret, of at least leastSecret bytes, at the end of a string.
func (r *redactor) redactEnd(text string) string {
	for at := max(0, len(text)-r.mostSecret); at+leastSecret <= len(text); at++ {
		for _, secret := range r.byStart[text[at:at+leastSecret]] {
			if strings.HasPrefix(secret, text[at:]) {
				return text[:at] + redacted
			}
		}
	}
	return text
}

// redactBeginning redacts the end of a secret, of at least leastSecret bytes, at the beginning of a string.
func (r *redactor) redactBeginning(text string) string {
	for end := min(len(text), r.mostSecret); end >= leastSecret; end-- {
		for _, secret := range r.byEnd[text[end-leastSecret:end]] {
			if strings.HasSuffix(secret, text[:end]) {
				return redacted + text[end:]
			}
		}
	}
	return text
}
