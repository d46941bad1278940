package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/desired"
)

func TestUntilOverdue(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	status := func(ready, degraded metav1.ConditionStatus, why v1.Reason) *v1.EchoStatus {
		s := &v1.EchoStatus{}
		record(s, verdict{ready: ready, progressing: no, degraded: degraded, readyReason: other, progressingReason: other, degradedReason: why},
			1, now.Add(-time.Minute))
		return s
	}
	rolledOut := status(no, no, other) // Ready changed first; the rollout ended half a minute later with a pod missing
	meta.SetStatusCondition(&rolledOut.Conditions,
		metav1.Condition{Type: v1.ConditionProgressing, Status: yes, LastTransitionTime: metav1.NewTime(now.Add(-30 * time.Second))})
	for name, c := range map[string]struct {
		status *v1.EchoStatus
		want   time.Duration
	}{
		"changed": {rolledOut, desired.ProgressDeadline - 30*time.Second},
		"ready":   {status(yes, no, other), 0},
		"missing": {status(no, no, other), desired.ProgressDeadline - time.Minute},
		"overdue": {status(no, yes, v1.ReasonProgressDeadlineExceeded), 0},
		"refused": {status(no, yes, v1.ReasonPodsRejected), desired.ProgressDeadline - time.Minute},
		"unknown": {&v1.EchoStatus{}, 0},
	} {
		NewWithT(t).Expect(untilOverdue(c.status, now)).To(Equal(c.want), name)
	}
}
