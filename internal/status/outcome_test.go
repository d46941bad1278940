package status

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/tests/support"
)

// said is a summary of the three conditions and the first transition.
type said struct {
	Ready, Progressing, Degraded  string // the status and the reason
	Message                       string // of the status
	OfReady, Rollout, OfAttention string // messages of the three conditions; OfAttention is empty if the Echo is not degraded
	Event                         string
}

// saying returns a summary of a report.
func saying(report Report) said {
	value := func(kind string) (string, string) {
		c := meta.FindStatusCondition(report.Status.Conditions, kind)
		return string(c.Status) + " " + c.Reason, c.Message
	}
	s := said{}
	s.Message = report.Status.Message
	s.Ready, s.OfReady = value(v1.ConditionReady)
	s.Progressing, s.Rollout = value(v1.ConditionProgressing)
	if s.Degraded, s.OfAttention = value(v1.ConditionDegraded); !meta.IsStatusConditionTrue(report.Status.Conditions, v1.ConditionDegraded) {
		s.OfAttention = ""
	}
	if len(report.Transitions) > 0 {
		s.Event = report.Transitions[0].Reason.EventType() + " " + report.Transitions[0].Reason.String()
	}
	return s
}

// noPods is the message of an Echo that is scaled to zero.
const noPods = "No pods are requested and none are running."

func TestEvaluate_explainsConditions(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const twoOfTwo, oneOfTwo, quiet = "2 of 2 pods are ready.", "1 of 2 pods are ready.", "False AsExpected"
	const rolledOut, unchanged, incomplete = "All changes are rolled out.", "No change is being rolled out.", "The latest change has not been fully applied."
	const isPaused, late = "The Echo is paused: changes are not applied.", "There has been no progress for 10 minutes."
	const resume, look = " To apply them, turn off Paused (spec.paused: false).",
		" Check the log and the readiness probe of the pods: their container must listen on spec.port."
	const starting, rolling = "The pods are starting: 1 of 2 are ready.", "A change is being rolled out: 1 of 2 pods are updated, and 1 are ready."
	paused := func(e *v1.Echo) { e.Spec.Paused = true }
	ownReplicas := func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) }
	for name, c := range map[string]struct {
		change func(*v1.Echo)
		seen   Observation
		err    error
		want   said
	}{
		"ready": {seen: Observation{Deployment: seenDeployment(done, 2, 2, 2)},
			want: said{"True AllPodsReady", "False RolledOut", quiet, twoOfTwo, twoOfTwo, rolledOut, "", "Normal Ready"}},
		"a note": {seen: Observation{Deployment: seenDeployment(done, 2, 2, 2), NoRoute: "Set a host."},
			want: said{"True AllPodsReady", "False RolledOut", quiet, "Set a host. " + twoOfTwo, twoOfTwo + " Set a host.", rolledOut, "",
				"Normal Ready"}},
		"scaled to zero": {change: func(e *v1.Echo) { e.Spec.Replicas = new(int32(0)) }, seen: Observation{Deployment: seenDeployment(done, 0, 0, 0)},
			want: said{"True ScaledToZero", "False RolledOut", quiet, noPods, noPods, rolledOut, "", "Normal Ready"}},
		"created": {seen: Observation{Deployment: seenDeployment(going, 1, 1, 1)},
			want: said{"False RollingOut", "True RollingOut", quiet, starting, starting, "The pods are being created: 1 of 2 exist.", "", ""}},
		"rolling out": {seen: Observation{Deployment: changedDeployment(seenDeployment(going, 3, 1, 1), secondRevision)},
			want: said{"False RollingOut", "True RollingOut", quiet, rolling, rolling, "A change is being rolled out: 1 of 2 pods are updated.",
				"", ""}},
		"not ready": {seen: Observation{Deployment: seenDeployment(done, 2, 2, 1)},
			want: said{"False PodsNotReady", "False PodsNotReady", quiet, oneOfTwo, oneOfTwo, unchanged, "", ""}},
		"too late": {seen: Observation{Deployment: seenDeployment(deploymentDeadlineExceeded, 2, 2, 1)},
			want: said{"False ProgressDeadlineExceeded", "False ProgressDeadlineExceeded", "True ProgressDeadlineExceeded",
				late + look + " " + oneOfTwo, oneOfTwo + " " + late, late, late + look, "Warning NotReady"}},
		"paused, nothing created": {change: paused,
			want: said{"False Paused", "False Paused", quiet, isPaused + resume + " No pods have been created.",
				"No pods have been created. " + isPaused + resume, isPaused, "", ""}},
		"paused, ready": {change: paused, seen: Observation{Deployment: changedDeployment(seenDeployment(done, 2, 2, 2), ownReplicas)},
			want: said{"True AllPodsReady", "False Paused", quiet, isPaused + resume + " " + twoOfTwo, twoOfTwo, isPaused, "", "Normal Ready"}},
		"paused, not ready": {change: paused, seen: Observation{Deployment: changedDeployment(seenDeployment(going, 2, 2, 1), ownReplicas)},
			want: said{"False Paused", "False Paused", quiet, isPaused + resume + " " + oneOfTwo, oneOfTwo + " " + isPaused + resume, isPaused, "", ""}},
		"invalid": {err: &objects.InvalidSpecError{Message: "Too many", Quote: "b", Advice: "Take fewer."},
			want: said{"False InvalidSpec", "False InvalidSpec", "True InvalidSpec", `Too many: "b". Take fewer.`, "Too many.", incomplete,
				`Too many: "b". Take fewer.`, "Warning InvalidSpec"}},
		"invalid, with pods": {seen: Observation{Deployment: changedDeployment(seenDeployment(done, 2, 2, 2), ownReplicas)},
			err: &objects.InvalidSpecError{Message: "Too many", Advice: "Take fewer."},
			want: said{"False InvalidSpec", "False InvalidSpec", "True InvalidSpec", "Too many. Take fewer. " + twoOfTwo, twoOfTwo + " Too many.",
				incomplete, "Too many. Take fewer.", "Warning InvalidSpec"}},
		"a failed write": {seen: Observation{Deployment: changedDeployment(seenDeployment(done, 2, 2, 2), ownReplicas)}, err: errors.New("refused"),
			want: said{"False ApplyFailed", "False ApplyFailed", "True ApplyFailed",
				`The operator cannot complete a change: "refused". The operator retries automatically. ` + twoOfTwo,
				twoOfTwo + " The operator cannot complete a change.", incomplete,
				`The operator cannot complete a change: "refused". The operator retries automatically.`, "Warning NotReady"}},
		"a failed read": {err: errors.New("refused"),
			want: said{"Unknown ApplyFailed", "False ApplyFailed", "True ApplyFailed",
				`The operator cannot complete a change: "refused". The operator retries automatically.`,
				"The operator cannot complete a change.", incomplete,
				`The operator cannot complete a change: "refused". The operator retries automatically.`, "Warning NotReady"}},
	} {
		t.Run(name, func(t *testing.T) {
			echo := support.Echo("ns", "x")
			if c.change != nil {
				c.change(echo)
			}
			NewWithT(t).Expect(saying(Evaluate(echo, c.seen, Classify(c.err), now))).To(BeComparableTo(c.want))
		})
	}
}

// TestPodsOutcome_keepsProgressDespiteCause checks that a cause does not hide whether a change is in progress.
func TestPodsOutcome_keepsProgressDespiteCause(t *testing.T) {
	g := NewWithT(t)
	rolling := availability{want: 2, updated: 1, available: 1, progressing: true}
	because := func(c cause) outcome { return podsOutcome(rolling, c, cause{}) }
	want := because(cause{})
	g.Expect(want.readyReason).To(Equal(v1.ReasonRollingOut))
	none := message.Problem{Text: "No node"}
	want.readyReason, want.event, want.problem, want.counts = v1.ReasonUnschedulable, v1.EventNotReady, none, rolling.counts(true)
	g.Expect(because(cause{reason: v1.ReasonUnschedulable, problem: none})).To(Equal(want))
	want.readyReason, want.phase = v1.ReasonNodeProblem, v1.PhaseWarning
	g.Expect(because(cause{reason: v1.ReasonNodeProblem, problem: none, warning: true})).To(Equal(want))
	want.degraded, want.degradedReason, want.attention = yes, v1.ReasonNodeProblem, none
	g.Expect(because(cause{reason: v1.ReasonNodeProblem, problem: none, lasting: true})).To(Equal(want))
	late := podsOutcome(availability{want: 2, overdue: true}, cause{reason: v1.ReasonNodeProblem, problem: none, lasting: true}, cause{})
	g.Expect(late.degradedReason).To(Equal(v1.ReasonProgressDeadlineExceeded), "a cause hides that the deadline has passed")
}

func TestEvaluateDeletion_reportsFailure(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	echo := support.Echo("ns", "x")
	no := &objects.RequestError{Action: "deleted", Kind: "Service", Key: client.ObjectKey{Namespace: "ns", Name: "x"}, Err: errors.New("no")}
	failed := EvaluateDeletion(echo, Observation{}, &Failure{Err: no, Reason: v1.ReasonForbidden, Transient: true}, now)
	const why, deleting = `The Service x cannot be deleted: "no". The operator retries automatically.`, "The Echo is being deleted."
	want := said{"False Deleting", "True Deleting", "True Forbidden", why + " " + deleting, deleting + " The Service x cannot be deleted.",
		"Some objects of the Echo cannot be deleted.", why, "Normal DeleteRequested"}
	g.Expect(saying(failed)).To(BeComparableTo(want))
	echo.Status = failed.Status
	goesOn := EvaluateDeletion(echo, Observation{}, nil, now)
	const draining = "Its pods are draining connections."
	g.Expect(saying(goesOn)).To(BeComparableTo(said{"False Deleting", "True Deleting", "False Deleting", deleting + " " + draining,
		deleting + " " + draining, draining, "", ""}))
}

func TestEvaluateDeletion(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for name, before := range map[string]v1.EchoStatus{
		"after a status": Evaluate(support.Echo("ns", "x"), Observation{Deployment: seenDeployment(done, 2, 2, 2), Pods: []*objects.Pod{{}}}, nil,
			now).Status,
		"as the first": {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Generation, e.Status = 7, before })
			report := EvaluateDeletion(echo, Observation{}, nil, now)
			const message = "The Echo is being deleted. Its pods are draining connections."
			want := said{"False Deleting", "True Deleting", "False Deleting", message, message, "Its pods are draining connections.", "",
				"Normal DeleteRequested"}
			g.Expect(saying(report)).To(BeComparableTo(want))
			got := report.Status
			if got.Phase != v1.PhaseTerminating || got.ObservedGeneration != 7 || got.ReadyReplicas != before.ReadyReplicas ||
				!cmp.Equal(got.Pods, before.Pods) {
				t.Errorf("the status is %+v", got)
			}
			for _, condition := range got.Conditions {
				g.Expect(condition.ObservedGeneration).To(BeEquivalentTo(7), "%s", condition.Type)
			}
			echo.Status = got
			if again := EvaluateDeletion(echo, Observation{}, nil, now.Add(time.Hour)); again.Transitions != nil || !cmp.Equal(again.Status, got) {
				t.Errorf("the deletion is reported again: %+v", again)
			}
			if report.Transitions[0].Note == message ||
				slices.ContainsFunc(echo.Status.Conditions, func(c metav1.Condition) bool { return c.LastTransitionTime.IsZero() }) {
				t.Errorf("the event says %q, the conditions are %+v", report.Transitions[0].Note, echo.Status.Conditions)
			}
		})
	}
}

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

// availableSince returns a Deployment whose Available condition changed at the given time. If it is False, one of two pods is missing.
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

// TestEvaluate_overdueAfterRejection checks that time with a rejected spec counts as time without progress only if pods are missing.
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
		NewWithT(t).Expect(IsRolloutStep(made(c.before), made(c.after))).To(Equal(c.want), name)
	}
}
