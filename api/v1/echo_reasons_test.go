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
	corev1 "k8s.io/api/core/v1"
)

// declared holds the Go type and the value of a constant in echo_reasons.go.
type declared struct{ goType, value string }

// declaredReasons returns all constants in echo_reasons.go, by name. It reads the source file, so that reasons added later are also
// checked.
func declaredReasons(t *testing.T) map[string]declared {
	t.Helper()
	g := NewWithT(t)
	file, err := parser.ParseFile(token.NewFileSet(), "echo_reasons.go", nil, 0)
	g.Expect(err).NotTo(HaveOccurred())
	all := map[string]declared{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		goType, hasType := spec.Type.(*ast.Ident)
		literal, isLiteral := spec.Values[0].(*ast.BasicLit)
		if !hasType || !isLiteral {
			t.Fatalf("%s has no type or is not a literal", spec.Names[0])
		}
		value, err := strconv.Unquote(literal.Value)
		g.Expect(err).NotTo(HaveOccurred())
		all[spec.Names[0].Name] = declared{goType.Name, value}
		return true
	})
	if len(all) < 30 {
		t.Fatalf("only %d reasons were found", len(all))
	}
	return all
}

// TestReason checks that no two constants are the same reason, so that no reason is both Normal and Warning, and that the reasons respect
// the limits of metav1.Condition and Event. A single invalid reason makes the API server reject the whole status.
func TestReason(t *testing.T) {
	valid := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	names := map[string]string{}
	for name, reason := range declaredReasons(t) {
		if strings.HasPrefix(name, "Reason") && name != "Reason"+reason.value {
			t.Errorf("%s is %q", name, reason.value)
		}
		if other := names[reason.value]; other != "" {
			t.Errorf("%s and %s are both %q", name, other, reason.value)
		}
		names[reason.value] = name
		if !valid.MatchString(reason.value) || len(reason.value) > 128 {
			t.Errorf("%s: %q is not valid as a reason of a condition and of an event", name, reason.value)
		}
	}
}

// TestWarningReason checks which reasons have the type WarningReason.
func TestWarningReason(t *testing.T) {
	want := map[string]bool{
		"ReasonProgressDeadlineExceeded": true, "ReasonQuotaExceeded": true, "ReasonPodsRejected": true, "ReasonUnschedulable": true,
		"ReasonImagePullFailed": true, "ReasonContainerNotStarted": true, "ReasonPodsCrashing": true, "ReasonPodFailed": true,
		"ReasonInvalidSpec": true, "ReasonNameConflict": true, "ReasonDeletionBlocked": true, "ReasonForbidden": true, "ReasonApplyFailed": true,
		"ReasonDeploymentPaused": true, "ReasonServiceAccountNotFound": true,
		"ReasonGatewayAPIMissing": true, "ReasonRouteNotAccepted": true, "ReasonCheckFailed": true, "ReasonCheckUnknown": true,
		"ReasonNodeProblem": true,
		"EventNotReady":     true, "EventEchoNotFound": true, "EventCompanionNotCreated": true, "EventNotMonitored": true,
	}
	got := map[string]bool{}
	for name, reason := range declaredReasons(t) {
		switch reason.goType {
		case "WarningReason":
			got[name] = true
		case "NormalReason":
		default:
			t.Errorf("%s has the type %s", name, reason.goType)
		}
	}
	NewWithT(t).Expect(got).To(BeComparableTo(want))
}

func TestEventType(t *testing.T) {
	for want, reason := range map[string]Reason{
		corev1.EventTypeNormal:  NormalReason("Same"),
		corev1.EventTypeWarning: WarningReason("Same"),
	} {
		if got := reason.EventType(); got != want || reason.String() != "Same" {
			t.Errorf("%T: the event has type %s and reason %s", reason, got, reason)
		}
	}
}
