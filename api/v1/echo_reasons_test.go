package v1

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestReason checks that no two constants are the same reason, so that no reason is both Normal and Warning, and that the reasons respect
// the limits of metav1.Condition and Event. A single invalid reason makes the API server reject the whole status. The test reads the source
// file, so that reasons added later are also checked.
func TestReason(t *testing.T) {
	g := NewWithT(t)
	file, err := parser.ParseFile(token.NewFileSet(), "echo_reasons.go", nil, 0)
	g.Expect(err).NotTo(HaveOccurred())
	all := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			g.Expect(spec.Type).NotTo(BeNil(), "%s has no type", spec.Names[0])
			all[spec.Names[0].Name], err = strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			g.Expect(err).NotTo(HaveOccurred())
		}
		return true
	})
	g.Expect(len(all)).To(BeNumerically(">=", 30))
	valid := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	names := map[string]string{}
	for name, reason := range all {
		if strings.HasPrefix(name, "Reason") && name != "Reason"+reason {
			t.Errorf("%s is %q", name, reason)
		}
		if other := names[reason]; other != "" {
			t.Errorf("%s and %s are both %q", name, other, reason)
		}
		names[reason] = name
		if !valid.MatchString(reason) || len(reason) > 128 {
			t.Errorf("%s: %q is not valid as a reason of a condition and of an event", name, reason)
		}
	}
}
