package status

import (
	"errors"
	"slices"
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

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
	// other is a reason that no code treats specially.
	other = v1.NormalReason("Other")
)

// seenDeployment returns a Deployment that its controller has observed. The counts are the numbers of replicas, updated replicas, and
// available replicas.
func seenDeployment(reason string, counts ...int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		Generation: 2,
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 2, Replicas: counts[0], UpdatedReplicas: counts[1], ReadyReplicas: counts[2], AvailableReplicas: counts[2],
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: reason}},
		},
	}
}

func changedDeployment(d *appsv1.Deployment, change func(*appsv1.Deployment)) *appsv1.Deployment {
	change(d)
	return d
}

// statusWant is an expected status in short form.
type statusWant struct {
	ready, progressing, degraded metav1.ConditionStatus
	reason                       v1.Reason
	phase                        string
}

type statusCase struct {
	zero   bool
	paused bool
	was    *outcome
	ago    time.Duration // the time since the last status
	seen   *appsv1.Deployment
	pod    string // the status of the Echo's pod
	err    error
	want   statusWant
}

const done, going = "NewReplicaSetAvailable", "ReplicaSetUpdated"

func was(ready, progressing, degraded metav1.ConditionStatus) *outcome {
	return &outcome{ready: ready, progressing: progressing, degraded: degraded, readyReason: other, progressingReason: other,
		degradedReason: v1.ReasonProgressDeadlineExceeded}
}

func wasReady() *outcome   { return was(yes, no, no) }
func wasRolling() *outcome { return was(no, yes, no) }
func wasMissing() *outcome { return was(no, no, no) }
func wasOverdue() *outcome { return was(no, no, yes) }

func secondRevision(d *appsv1.Deployment) { d.Annotations = map[string]string{revisionAnnotation: "2"} }
func twoWanted(d *appsv1.Deployment)      { d.Spec.Replicas = new(int32(2)) }

// rolloutCases returns test cases with changes that are being rolled out.
func rolloutCases() map[string]statusCase {
	return map[string]statusCase{
		"just applied": {seen: changedDeployment(seenDeployment(done, 0, 0, 0),
			func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} }),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhasePending}},
		"first pods coming": {seen: seenDeployment(going, 2, 2, 1), want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhasePending}},
		"old pods left": {seen: changedDeployment(seenDeployment(going, 3, 2, 2), secondRevision),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhaseUpdating}},
		"rolled back to a kind of pod that existed": {seen: changedDeployment(seenDeployment(done, 2, 0, 2), secondRevision), was: wasReady(),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhaseUpdating}},
		"change not yet seen": {was: wasReady(),
			seen: changedDeployment(seenDeployment(done, 2, 2, 2), func(d *appsv1.Deployment) { d.Generation = 3 }),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhaseUpdating}},
		"rollout past its deadline": {was: wasRolling(), seen: seenDeployment(deploymentDeadlineExceeded, 2, 2, 1),
			want: statusWant{no, no, yes, v1.ReasonProgressDeadlineExceeded, v1.PhaseWarning}},
		"scaling up": {was: wasRolling(), seen: seenDeployment(done, 2, 2, 1),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhaseUpdating}},
		"changed after its deadline": {was: wasOverdue(),
			seen: changedDeployment(seenDeployment(deploymentDeadlineExceeded, 2, 2, 1), func(d *appsv1.Deployment) { d.Generation = 3 }),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhasePending}},
		"cannot be rolled out": {was: wasRolling(), seen: seenDeployment(going, 2, 2, 1), pod: containerWaits("ErrImagePull", "no"),
			want: statusWant{no, yes, yes, v1.ReasonImagePullFailed, v1.PhaseWarning}},
		"could not be rolled out in time": {was: wasRolling(), seen: seenDeployment(deploymentDeadlineExceeded, 2, 2, 1),
			pod:  containerWaits("ErrImagePull", "no"),
			want: statusWant{no, no, yes, v1.ReasonImagePullFailed, v1.PhaseWarning}},
		"the Deployment was just deleted": {was: wasReady(),
			seen: changedDeployment(seenDeployment(done, 2, 2, 2),
				func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: time.Now()} }),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhaseUpdating}},
		"more pods than wanted, all going": {was: wasRolling(), seen: seenDeployment(done, 3, 3, 3),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhaseUpdating}},
	}
}

// podCases returns test cases with existing and missing pods.
func podCases() map[string]statusCase {
	return map[string]statusCase{
		"all as desired": {seen: seenDeployment(done, 2, 2, 2), want: statusWant{yes, no, no, v1.ReasonAllPodsReady, v1.PhaseReady}},
		"none wanted": {zero: true, seen: seenDeployment(done, 0, 0, 0),
			want: statusWant{yes, no, no, v1.ReasonScaledToZero, v1.PhaseReady}},
		"none wanted, some up": {zero: true, seen: seenDeployment(done, 1, 1, 1), was: wasRolling(),
			want: statusWant{no, yes, no, v1.ReasonRollingOut, v1.PhaseUpdating}},
		"scaling up for too long": {was: wasRolling(), ago: objects.ProgressDeadline, seen: seenDeployment(done, 2, 2, 1),
			want: statusWant{no, no, yes, v1.ReasonProgressDeadlineExceeded, v1.PhaseWarning}},
		"a pod lost": {was: wasReady(), seen: seenDeployment(done, 2, 2, 1),
			want: statusWant{no, no, no, v1.ReasonPodsNotReady, v1.PhaseWarning}},
		"a pod missing for a while": {was: wasMissing(), ago: objects.ProgressDeadline - time.Second, seen: seenDeployment(done, 1, 1, 1),
			want: statusWant{no, no, no, v1.ReasonPodsNotReady, v1.PhaseWarning}},
		"a pod missing for too long": {was: wasMissing(), ago: objects.ProgressDeadline, seen: seenDeployment(done, 1, 1, 1),
			want: statusWant{no, no, yes, v1.ReasonProgressDeadlineExceeded, v1.PhaseWarning}},
		"still missing": {was: wasOverdue(), seen: seenDeployment(done, 2, 2, 1),
			want: statusWant{no, no, yes, v1.ReasonProgressDeadlineExceeded, v1.PhaseWarning}},
		"a pod lost to a crash": {was: wasReady(), seen: seenDeployment(done, 2, 2, 1),
			pod:  `{phase: Running, containerStatuses: [{name: echo, state: {terminated: {exitCode: 1}}}]}`,
			want: statusWant{no, no, no, v1.ReasonPodsCrashing, v1.PhaseWarning}},
		"as desired, whatever a pod says": {was: wasReady(), seen: seenDeployment(done, 2, 2, 2), pod: containerWaits("ErrImagePull", "no"),
			want: statusWant{yes, no, no, v1.ReasonAllPodsReady, v1.PhaseReady}},
		"well again": {was: wasOverdue(), ago: time.Hour, seen: seenDeployment(done, 2, 2, 2),
			want: statusWant{yes, no, no, v1.ReasonAllPodsReady, v1.PhaseReady}},
	}
}

// leftAloneCases returns test cases with Echoes whose objects are left unchanged.
func leftAloneCases() map[string]statusCase {
	return map[string]statusCase{
		"paused, a pod lost to a crash": {paused: true, was: wasReady(), seen: changedDeployment(seenDeployment(done, 2, 2, 1), twoWanted),
			pod:  containerWaits("ErrImagePull", "no"),
			want: statusWant{no, no, yes, v1.ReasonImagePullFailed, v1.PhaseWarning}},
		"paused, healthy": {paused: true, zero: true, was: wasReady(), seen: changedDeployment(seenDeployment(done, 2, 2, 2), twoWanted),
			want: statusWant{yes, no, no, v1.ReasonAllPodsReady, v1.PhaseReady}},
		"paused, a pod lost": {paused: true, was: wasReady(), seen: changedDeployment(seenDeployment(done, 2, 2, 1), twoWanted),
			want: statusWant{no, no, no, v1.ReasonPaused, v1.PhaseWarning}},
		"paused from the beginning": {paused: true, want: statusWant{no, no, no, v1.ReasonPaused, v1.PhasePending}},
		"over the limit": {was: wasReady(), seen: seenDeployment(done, 2, 2, 2), err: &objects.InvalidSpecError{Message: "too many"},
			want: statusWant{no, no, yes, v1.ReasonInvalidSpec, v1.PhaseFailed}},
		"name taken": {err: &objects.NameConflictError{Kind: "Service", Name: "x"},
			want: statusWant{no, no, yes, v1.ReasonNameConflict, v1.PhaseFailed}},
		"write refused": {seen: seenDeployment(done, 2, 2, 2), err: errors.New("no"),
			want: statusWant{no, no, yes, v1.ReasonApplyFailed, v1.PhaseWarning}},
		"nothing known": {err: errors.New("no"), want: statusWant{unknown, no, yes, v1.ReasonApplyFailed, v1.PhaseWarning}},
	}
}

func TestEvaluate(t *testing.T) {
	for _, cases := range []map[string]statusCase{rolloutCases(), podCases(), leftAloneCases()} {
		for name, c := range cases {
			t.Run(name, c.run)
		}
	}
}

func (c statusCase) run(t *testing.T) {
	g, status := NewWithT(t), c.evaluate(t).Status
	value := func(kind string) metav1.ConditionStatus {
		return meta.FindStatusCondition(status.Conditions, kind).Status
	}
	got := statusWant{value(v1.ConditionReady), value(v1.ConditionProgressing), value(v1.ConditionDegraded), c.want.reason, status.Phase}
	if reason := meta.FindStatusCondition(status.Conditions, v1.ConditionReady).Reason; got != c.want || reason != c.want.reason.String() {
		t.Errorf("got %+v because of %s, want %+v", got, reason, c.want)
	}
	g.Expect(status.ObservedGeneration).To(BeEquivalentTo(4))
	for _, condition := range status.Conditions {
		g.Expect(condition.ObservedGeneration).To(BeEquivalentTo(4), "%s", condition.Type)
	}
}

func TestEvaluate_keepsUnchangedConditions(t *testing.T) {
	now := time.Now()
	seen := Observation{Deployment: seenDeployment(done, 2, 2, 1)}
	echo := support.Echo("ns", "x")
	echo.Status = Evaluate(echo, seen, nil, now).Status
	again := Evaluate(echo, seen, nil, now.Add(time.Minute)).Status
	for i, condition := range again.Conditions {
		NewWithT(t).Expect(condition).To(Equal(echo.Status.Conditions[i]))
	}
}

func TestEvaluate_countsPods(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas = new(int32(1)) })
	d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, AvailableReplicas: 2}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "theirs", Image: "no"}, {Name: "echo", Image: "i"}}
	got := Evaluate(echo, Observation{Deployment: d}, nil, time.Now()).Status
	const message = "The pods are starting: 1 of 1 are ready."
	g.Expect(meta.FindStatusCondition(got.Conditions, v1.ConditionReady).Message).To(Equal(message), "more pods than wanted")
	got.Conditions = nil
	want := v1.EchoStatus{Phase: v1.PhasePending, Message: message, Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, URL: "http://x.ns.svc",
		Image:    "i",
		Selector: "app.kubernetes.io/instance=x,app.kubernetes.io/name=echo"}
	g.Expect(got).To(BeComparableTo(want))
}

func TestEvaluate_pollsUnwatchedObjects(t *testing.T) {
	overLimit := Classify(&objects.InvalidSpecError{Message: "too many"})
	for _, c := range []struct {
		paused, unwatched bool
		failure           *Failure
		counts            []int32
		want              time.Duration
	}{
		{true, true, nil, []int32{2, 2, 2}, LookPeriod}, {true, true, nil, []int32{2, 2, 1}, LookPeriod}, {true, false, nil, []int32{2, 2, 2}, 0},
		{false, true, nil, []int32{2, 2, 2}, 0}, {true, false, nil, []int32{2, 2, 1}, objects.ProgressDeadline},
		{false, true, overLimit, []int32{2, 2, 2}, LookPeriod}, {false, false, overLimit, []int32{2, 2, 2}, 0},
	} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Paused = c.paused })
		d := changedDeployment(seenDeployment(done, c.counts...), func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(2)) })
		now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		report := Evaluate(echo, Observation{Deployment: d, Unwatched: c.unwatched}, c.failure, now)
		NewWithT(t).Expect(report.Next).To(Equal(c.want), "%+v", c)
	}
}

func TestEvaluate_resetsCountsWithoutDeployment(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Spec.Paused = true
		e.Status = v1.EchoStatus{Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, Image: "i"}
	})
	for name, failure := range map[string]*Failure{"no failure": nil, "a name that is taken": Classify(&objects.NameConflictError{})} {
		got := Evaluate(echo, Observation{NoDeployment: true}, failure, time.Now()).Status
		g.Expect(got.Replicas+got.UpdatedReplicas+got.ReadyReplicas).To(BeZero(), name)
		g.Expect(got.Image).To(BeEmpty(), name)
	}
	if got := Evaluate(echo, Observation{}, Classify(errors.New("no")), time.Now()).Status; got.Replicas != 4 || got.Image != "i" {
		t.Errorf("without a successful read, the status is %+v", got)
	}
}

func TestEvaluate_explainsCause(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x")
	seen := Observation{Deployment: seenDeployment(going, 2, 2, 1),
		Pods: []corev1.Pod{podWith(t, "p", containerWaits("ErrImagePull", "no such thing"))}}
	status := Evaluate(echo, seen, nil, time.Now()).Status
	g.Expect(meta.FindStatusCondition(status.Conditions, v1.ConditionReady).Message).To(ContainSubstring("1 of 2 pods are ready."))
	g.Expect(meta.FindStatusCondition(status.Conditions, v1.ConditionDegraded).Message).To(ContainSubstring("no such thing"))
	if want := []string{"p"}; !slices.Equal(status.Pods["Pending"], want) {
		t.Errorf("the pods are %v", status.Pods)
	}
	echo.Status = status
	g.Expect(Evaluate(echo, Observation{}, Classify(errors.New("no")), time.Now()).Status.Pods).To(HaveLen(1))
}

// TestEvaluate_urlsOfAppliedSpec checks that the URLs in the status never come from an unapplied spec.
func TestEvaluate_urlsOfAppliedSpec(t *testing.T) {
	spec := v1.EchoSpec{Service: v1.EchoService{Port: 81}, Ingress: &v1.EchoIngress{Enabled: true, Host: "new.example.com"}}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "other", Port: 1}, {Name: "http", Port: 82}}}}
	seen := Observation{Service: service, Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(0))}}}
	for name, c := range map[string]struct {
		paused  bool
		failure *Failure
		want    string
	}{
		"applied": {want: "http://e.ns.svc:81 http://new.example.com"},
		"paused":  {paused: true, want: "http://e.ns.svc:82 http://old.example.com"},
		"refused": {failure: &Failure{Reason: v1.ReasonInvalidSpec, Err: errors.New("x"), NoRetry: true},
			want: "http://e.ns.svc:82 http://old.example.com"},
	} {
		echo := &v1.Echo{Namespace: "ns", Name: "e", Spec: spec}
		echo.Spec.Paused = c.paused
		echo.Status.URL, echo.Status.ExternalURL = "http://before", "http://old.example.com"
		got := Evaluate(echo, seen, c.failure, time.Unix(0, 0)).Status
		NewWithT(t).Expect(got.URL+" "+got.ExternalURL).To(Equal(c.want), name)
	}
}
