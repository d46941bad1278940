package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/tests/support"
)

func TestUntilOverdue(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	status := func(ready, degraded metav1.ConditionStatus, why v1.Reason) *v1.EchoStatus {
		s := &v1.EchoStatus{}
		record(s, outcome{ready: ready, progressing: no, degraded: degraded, readyReason: other, progressingReason: other, degradedReason: why},
			1, now.Add(-time.Minute))
		return s
	}
	rolledOut := status(no, no, other) // Ready changed first; the rollout ended half a minute later with a pod missing
	meta.SetStatusCondition(&rolledOut.Conditions,
		metav1.Condition{Type: v1.ConditionProgressing, Status: yes, LastTransitionTime: metav1.NewTime(now.Add(-30 * time.Second))})
	for name, c := range map[string]struct {
		status *v1.EchoStatus
		d      *appsv1.Deployment
		want   time.Duration
	}{
		"changed":   {rolledOut, nil, objects.ProgressDeadline - 30*time.Second},
		"ready":     {status(yes, no, other), nil, 0},
		"missing":   {status(no, no, other), nil, objects.ProgressDeadline - time.Minute},
		"lost":      {status(no, no, other), availableSince(noPod, now.Add(-time.Second)), objects.ProgressDeadline - time.Second},
		"available": {status(no, no, other), availableSince(yesPod, now), objects.ProgressDeadline - time.Minute},
		"overdue":   {status(no, yes, v1.ReasonProgressDeadlineExceeded), nil, 0},
		"refused":   {status(no, yes, v1.ReasonPodsRejected), nil, objects.ProgressDeadline - time.Minute},
		"unknown":   {&v1.EchoStatus{}, nil, 0},
	} {
		NewWithT(t).Expect(untilOverdue(c.status, c.d, now)).To(Equal(c.want), name)
	}
}

// availableSince returns a Deployment with two desired pods whose Available condition changed at the given time. One pod is missing if the
// Deployment is not available.
func availableSince(value corev1.ConditionStatus, since time.Time) *appsv1.Deployment {
	available := int32(2)
	if value == corev1.ConditionFalse {
		available = 1
	}
	d := changedDeployment(seenDeployment(done, 2, 2, available), twoWanted)
	d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: value, LastTransitionTime: metav1.NewTime(since)})
	return d
}

// TestEvaluate_overdueAfterRejection checks that the time during which a spec is rejected counts as time without progress only if pods are
// missing.
func TestEvaluate_overdueAfterRejection(t *testing.T) {
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const rejected = 2 * objects.ProgressDeadline
	for name, c := range map[string]struct {
		lost, reverted time.Duration // after the start
		degraded       metav1.ConditionStatus
		next           time.Duration
	}{
		"a pod was just lost":  {rejected - time.Second, rejected, no, objects.ProgressDeadline - time.Second},
		"a pod was lost early": {time.Second, rejected, yes, 0},
	} {
		g := NewWithT(t)
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas = new(int32(2)) })
		step := func(value corev1.ConditionStatus, since time.Duration, failure *Failure, now time.Duration) time.Duration {
			report := Evaluate(echo, Observation{Deployment: availableSince(value, start.Add(since))}, failure, start.Add(now))
			echo.Status = report.Status
			return report.Next
		}
		invalid := Classify(&objects.InvalidSpecError{Message: "too many"})
		step(corev1.ConditionTrue, 0, nil, 0)
		step(corev1.ConditionTrue, 0, invalid, 0)
		step(corev1.ConditionFalse, c.lost, invalid, c.lost)
		g.Expect(step(corev1.ConditionFalse, c.lost, nil, c.reverted)).To(Equal(c.next), name)
		degraded := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionDegraded)
		g.Expect(degraded.Status).To(Equal(c.degraded), "%s: %s", name, degraded.Message)
		step(corev1.ConditionFalse, c.lost, nil, c.lost+objects.ProgressDeadline)
		g.Expect(meta.IsStatusConditionTrue(echo.Status.Conditions, v1.ConditionDegraded)).To(BeTrue(), name)
	}
}

func TestIsRolloutStep(t *testing.T) {
	condition := func(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: kind, Status: status, Reason: reason, Message: message}}
		}
	}
	counts := func(updated, available int32) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Status.UpdatedReplicas, d.Status.AvailableReplicas = updated, available }
	}
	none := func(*appsv1.Deployment) {}
	for name, c := range map[string]struct {
		before, after func(*appsv1.Deployment)
		want          bool
	}{
		"counts":                {counts(0, 2), counts(1, 2), true},
		"ready":                 {counts(1, 2), counts(2, 2), false},
		"not ready anymore":     {counts(2, 2), counts(2, 1), false},
		"another annotation":    {none, func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }, false},
		"a label":               {none, func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} }, false},
		"an edit":               {none, func(d *appsv1.Deployment) { d.Generation++ }, false},
		"a rollout is new":      {none, condition(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", ""), true},
		"the deadline":          {none, condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, deploymentDeadlineExceeded, ""), false},
		"pods are rejected":     {none, condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "no"), false},
		"another rejection":     {condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "", "no"), condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "", "never"), false},
		"pods are accepted":     {condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "", "no"), none, false},
		"the rollout is paused": {none, func(d *appsv1.Deployment) { d.Generation++; d.Spec.Paused, d.Status.UpdatedReplicas = true, 1 }, false},
	} {
		made := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
			d := seenDeployment("", 2, 1, 2)
			d.Spec.Replicas = new(int32(2))
			change(d)
			return d
		}
		if got := IsRolloutStep(made(c.before), made(c.after)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
