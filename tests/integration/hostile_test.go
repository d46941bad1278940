package integration

import (
	"encoding/json"
	"fmt"
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
	"github.com/echo-operator/echo-operator/tests/support"
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
})

// readHostile reads hostile.yaml: specs in JSON by what happens to them, and by a text that the message contains.
func readHostile() (cases map[string]map[string][]json.RawMessage) {
	GinkgoHelper()
	repetition := regexp.MustCompile(`<([^<>]+)\*(\d+)>`)
	whole := repetition.ReplaceAllStringFunc(support.Read("tests/integration/hostile.yaml"), func(found string) string {
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
