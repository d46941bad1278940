package mustgather

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/echo-operator/echo-operator/internal/kinds"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

const (
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
	quotes  *regexp.Regexp
}

func newRedactor() (*redactor, error) {
	var file struct{ Children, Kinds map[string]any }
	if err := yaml.Unmarshal(keptFields, &file); err != nil {
		return nil, fmt.Errorf("kept.yaml: %w", err)
	}
	for _, kind := range kinds.Table() {
		if len(kind.Kept) == 0 {
			continue
		}
		rule := map[string]any{}
		for _, field := range append([]string{"apiVersion", "kind", "metadata"}, kind.Kept...) {
			rule[field] = "keep"
			if file.Children[field] != nil {
				rule[field] = file.Children[field]
			}
		}
		file.Kinds[kind.Kind] = rule
	}
	// A JSON string is also a quote. A cut may have removed the end of a quote.
	return &redactor{kinds: file.Kinds, secrets: map[string]bool{}, quotes: regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"?`)}, nil
}

// learn records the secrets in the spec of an object. It must be called before any text is written.
func (r *redactor) learn(o *object) {
	rules, _ := r.kinds[o.GetKind()].(map[string]any)
	r.value(o.Object["spec"], rules["spec"])
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
	case rule == "text" && isText:
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

// secret redacts a value, and records it so that it is also redacted in all strings. If the value is a map, its field names remain.
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

// formsOf returns the forms in which text can contain a secret or its long lines: unchanged, escaped as in logs, or quoted by the operator.
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

// text redacts the recorded secrets in a string, and each quote that contains one or may contain a part of one, because it was cut.
func (r *redactor) text(text string) string {
	if r.texts == nil {
		secrets := slices.SortedFunc(maps.Keys(r.secrets), func(a, b string) int { return len(b) - len(a) }) // one secret may contain another
		var pairs []string
		for _, secret := range secrets {
			pairs = append(pairs, secret, redacted)
		}
		r.texts = strings.NewReplacer(pairs...)
	}
	return r.quotes.ReplaceAllStringFunc(r.texts.Replace(text), func(quote string) string {
		isCut := strings.Contains(strings.TrimSuffix(quote, message.Ellipsis+`"`), message.Ellipsis)
		if isCut && len(r.secrets) > 0 || strings.Contains(quote, redacted) {
			return `"` + redacted + `"`
		}
		return quote
	})
}
