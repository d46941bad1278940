package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/tests/support/specs"
)

var _ = Describe("a hostile or odd spec", func() {
	// create creates an Echo in a namespace with a spec in JSON.
	create := func(ctx SpecContext, namespace, name string, spec json.RawMessage, options ...client.CreateOption) error {
		GinkgoHelper()
		manifest := `{"apiVersion": "example.com/v1", "kind": "Echo", "spec": ` + string(spec) + "}"
		manifest = strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(manifest)
		echo := &unstructured.Unstructured{}
		Expect(echo.UnmarshalJSON([]byte(manifest))).To(Succeed(), "%s", manifest)
		echo.SetNamespace(namespace)
		echo.SetName(name)
		return k8s.Create(ctx, echo, options...)
	}

	It("is reconciled, refused, or reported with the field to change", func(ctx SpecContext) {
		namespace, cases := newNamespace(ctx), readHostile()
		sent, want := map[string]string{}, map[string]types.GomegaMatcher{}
		expect := func(spec json.RawMessage, outcome types.GomegaMatcher) {
			GinkgoHelper()
			name := fmt.Sprintf("hostile-%d", len(sent))
			sent[name], want[name] = fmt.Sprintf("%.300s", spec), outcome
			Expect(create(ctx, namespace, name, spec)).To(Succeed(), "%s", sent[name])
		}
		each := func(kind string, try func(text string, spec json.RawMessage)) {
			for text, all := range cases[kind] {
				for _, spec := range all {
					try(text, spec)
				}
			}
		}
		reconciled := HavePrefix("reconciled")
		each("reconciled", func(_ string, spec json.RawMessage) { expect(spec, reconciled) })
		each("unknown", func(text string, spec json.RawMessage) {
			Expect(create(ctx, namespace, "strict", spec, client.FieldValidation("Strict"))).To(
				MatchError(ContainSubstring(`unknown field "`+text+`"`)), "%s", spec)
			expect(spec, reconciled)
		})
		each("refused", func(text string, spec json.RawMessage) {
			Expect(create(ctx, namespace, "refused", spec)).To(MatchError(ContainSubstring(text+": ")), "%.300s", spec)
		})
		each("invalid", func(text string, spec json.RawMessage) {
			expect(spec, And(HavePrefix("InvalidSpec: "), ContainSubstring(text)))
		})
		const check = `{"checks": [{"name": "c", "schedule": "@hourly", "url": "http://NAME.NAMESPACE.svc", ` // later fields replace these
		checkOf := func(fields json.RawMessage) json.RawMessage {
			return json.RawMessage(check + string(fields[1:]) + "]}")
		}
		each("check", func(text string, fields json.RawMessage) {
			expect(checkOf(fields), And(reconciled, ContainSubstring("field spec.checks[c]."+text)))
		})
		each("running", func(_ string, fields json.RawMessage) {
			expect(checkOf(fields), And(reconciled, ContainSubstring("has not run yet")))
		})

		all := &v1.EchoList{}
		Eventually(func(g Gomega) (wrong []string) {
			g.Expect(k8s.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
			for _, echo := range all.Items {
				if met, err := want[echo.Name].Match(outcome(&echo)); !met || err != nil {
					wrong = append(wrong, fmt.Sprintf("%s: %.300s", sent[echo.Name], outcome(&echo)))
				}
			}
			return wrong
		}).WithContext(ctx).WithPolling(time.Second).Should(BeEmpty())
		for _, echo := range all.Items {
			if strings.HasPrefix(outcome(&echo), "reconciled") {
				expectNoWrite(ctx, &echo)
			}
			if strings.Contains(outcome(&echo), "has not run yet") {
				cronJobNow(ctx, Default, &echo, "c")
			}
		}
	}, SpecTimeout(specTimeout))

	It("is refused if its name is not the name of a Service", func(ctx SpecContext) {
		for _, name := range []string{"", "A", "a-", "-a", "0a", "a_b", "a.b", "ä", "a\n", strings.Repeat("a", 64)} {
			Expect(create(ctx, "default", name, json.RawMessage("{}"), client.DryRunAll)).To(MatchError(ContainSubstring("name")), "%q", name)
		}
		Expect(create(ctx, "default", "a", json.RawMessage("{}"), client.DryRunAll)).To(Succeed())
	})

	It("is accepted up to each bound of the schema, and refused beyond it", func(ctx SpecContext) {
		send := func(spec any) error {
			text, err := json.Marshal(spec)
			Expect(err).NotTo(HaveOccurred())
			return create(ctx, "default", "bound", text, client.DryRunAll)
		}
		bounds("spec", readSchema(), func(value any) any { return value }, func(field string, within, beyond func(form int) any) {
			form := 0
			for form < forms-1 && send(within(form)) != nil {
				form++
			}
			Expect(send(within(form))).To(Succeed(), field)
			Expect(send(beyond(form))).To(MatchError(ContainSubstring(field+": ")), field)
		})
	}, SpecTimeout(specTimeout))
})

// readHostile reads hostile.yaml: specs in JSON by what happens to them, and by a text that the message contains.
func readHostile() (cases map[string]map[string][]json.RawMessage) {
	GinkgoHelper()
	text, err := os.ReadFile("hostile.yaml")
	Expect(err).NotTo(HaveOccurred())
	repetition := regexp.MustCompile(`<([^<>]+)\*(\d+)>`)
	whole := repetition.ReplaceAllStringFunc(string(text), func(found string) string {
		parts, repeated := repetition.FindStringSubmatch(found), &strings.Builder{}
		for i := 0; strconv.Itoa(i) != parts[2]; i++ {
			repeated.WriteString(strings.ReplaceAll(parts[1], "#", strconv.Itoa(i)))
		}
		return repeated.String()
	})
	Expect(yaml.UnmarshalStrict([]byte(whole), &cases)).To(Succeed())
	return cases
}

// outcome describes what the operator did with the current spec of an Echo.
func outcome(echo *v1.Echo) string {
	degraded := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionDegraded)
	switch {
	case degraded == nil || degraded.ObservedGeneration != echo.Generation:
		return "not seen yet"
	case degraded.Status == metav1.ConditionTrue:
		return degraded.Reason + ": " + degraded.Message
	}
	text := "reconciled"
	for _, check := range echo.Status.Checks {
		text += ": " + check.Message
	}
	return text
}

// forms is how many forms texts have. Most fields accept only some of them.
const forms = 5

// textOf returns a text of a certain length in one of the forms. In the first form, texts with different numbers differ.
func textOf(form, length, number int) string {
	suffix := strconv.Itoa(number)
	fill := func(letter string, count int) string { return strings.Repeat(letter, max(0, count)) }
	return [forms]string{fill("a", length-len(suffix)) + suffix, fill("A", length), "/" + fill("a", length), fill("1", length-2) + "/8",
		fill("a", 253) + "/" + fill("a", length-254)}[form][:length]
}

// sample returns a small valid value for a part of the schema, with the required fields.
func sample(s *specs.Schema, form, number int) any {
	switch {
	case s.Type == "boolean":
		return true
	case s.Type == "integer":
		return max(1, int(*s.Minimum))
	case s.Type == "array":
		return sampleList(s, form, 1)
	case s.Type == "object":
		value := map[string]any{}
		for _, name := range s.Required {
			property := s.Properties[name]
			value[name] = sample(&property, form, number)
		}
		return value
	case len(s.Enum) > 0:
		return strings.Trim(string(s.Enum[number%len(s.Enum)].Raw), `"`)
	}
	return textOf(form, 4, number)
}

// sampleList returns a list of different samples.
func sampleList(s *specs.Schema, form, count int) any {
	list := []any{}
	for i := range count {
		list = append(list, sample(s.Items.Schema, form, i))
	}
	return list
}

// bounds calls try for each bound of a part of the schema, with values at the bound and beyond it. The function wrap returns a spec that
// contains a value of the part.
func bounds(path string, s *specs.Schema, wrap func(any) any, try func(field string, within, beyond func(form int) any)) {
	at := func(bound, step int, of func(form, size int) any) {
		try(path, func(form int) any { return wrap(of(form, bound)) }, func(form int) any { return wrap(of(form, bound+step)) })
	}
	for step, bound := range map[int]*float64{-1: s.Minimum, 1: s.Maximum} {
		if bound != nil {
			at(int(*bound), step, func(_, value int) any { return value })
		}
	}
	sized := func(step int, bound *int64, of func(form, size int) any) {
		if bound != nil {
			at(int(*bound), step, of)
		}
	}
	text := func(form, size int) any { return textOf(form, size, 0) }
	list := func(form, size int) any { return sampleList(s, form, size) }
	sized(-1, s.MinLength, text)
	sized(1, s.MaxLength, text)
	sized(-1, s.MinItems, list)
	sized(1, s.MaxItems, list)
	sized(1, s.MaxProperties, func(_, size int) any {
		entries := map[string]any{}
		for i := range size {
			entries[textOf(0, 4, i)] = ""
		}
		return entries
	})
	for name, property := range s.Properties {
		bounds(path+"."+name, &property, func(value any) any {
			object := sample(s, 0, 0).(map[string]any)
			object[name] = value
			return wrap(object)
		}, try)
	}
	if s.Items != nil {
		bounds(path+"[0]", s.Items.Schema, func(value any) any { return wrap([]any{value}) }, try)
	}
	if s.AdditionalProperties != nil {
		bounds(path+".a", s.AdditionalProperties.Schema, func(value any) any { return wrap(map[string]any{"a": value}) }, try)
	}
}
