package status

import (
	"testing"

	v1 "github.com/echo-operator/echo-operator/api/v1"
)

// TestEvaluate_keepsStatusOfOtherChecks checks that adding a check to the status leaves the other checks unchanged.
func TestEvaluate_keepsStatusOfOtherChecks(t *testing.T) {
	was := v1.EchoCheckStatus{Result: v1.CheckUnknown, Message: "The last run gave no result: it ended."}
	echo := checkedEcho(was, func(e *v1.Echo) { e.Spec.Checks = append(e.Spec.Checks, v1.EchoCheck{Name: "new"}) })
	report := EvaluateChecks(echo, ChecksObservation{}, checkTime)
	if all := report.Status.Checks; len(all) != 2 || all[0].Message != was.Message || all[1].Name != "new" || len(report.Transitions) > 0 {
		t.Errorf("got %+v, %v", all, report.Transitions)
	}
}
