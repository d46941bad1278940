package status

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/tests/support"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
	// other is a reason that no code treats specially.
	other = v1.NormalReason("Other")
)

// seenDeployment returns a Deployment that its controller has observed. The counts are replicas, updated, and available replicas.
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

type statusCase struct {
	zero   bool
	paused bool
	was    *outcome
	ago    time.Duration // the time since the last status
	seen   *appsv1.Deployment
	pod    string // the status of the Echo's pod
	err    error
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

// statusCases returns the cases whose statuses are in testdata.
func statusCases() map[string]statusCase {
	return map[string]statusCase{
		"just applied": {seen: changedDeployment(seenDeployment(done, 0, 0, 0),
			func(d *appsv1.Deployment) { d.Status = appsv1.DeploymentStatus{} })},
		"first pods coming": {seen: seenDeployment(going, 2, 2, 1)},
		"old pods left":     {seen: changedDeployment(seenDeployment(going, 3, 2, 2), secondRevision)},
		"rolled back to a kind of pod that existed": {seen: changedDeployment(seenDeployment(done, 2, 0, 2), secondRevision), was: wasReady()},
		"change not yet seen": {was: wasReady(),
			seen: changedDeployment(seenDeployment(done, 2, 2, 2), func(d *appsv1.Deployment) { d.Generation = 3 })},
		"rollout past its deadline": {was: wasRolling(), seen: seenDeployment(deploymentDeadlineExceeded, 2, 2, 1)},
		"scaling up":                {was: wasRolling(), seen: seenDeployment(done, 2, 2, 1)},
		"changed after its deadline": {was: wasOverdue(),
			seen: changedDeployment(seenDeployment(deploymentDeadlineExceeded, 2, 2, 1), func(d *appsv1.Deployment) { d.Generation = 3 })},
		"cannot be rolled out": {was: wasRolling(), seen: seenDeployment(going, 2, 2, 1), pod: containerWaits("ErrImagePull", "no")},
		"could not be rolled out in time": {was: wasRolling(), seen: seenDeployment(deploymentDeadlineExceeded, 2, 2, 1),
			pod: containerWaits("ErrImagePull", "no")},
		"the Deployment was just deleted": {was: wasReady(),
			seen: changedDeployment(seenDeployment(done, 2, 2, 2),
				func(d *appsv1.Deployment) { d.DeletionTimestamp = &metav1.Time{Time: time.Now()} })},
		"more pods than wanted, all going": {was: wasRolling(), seen: seenDeployment(done, 3, 3, 3)},

		"all as desired":             {seen: seenDeployment(done, 2, 2, 2)},
		"none wanted":                {zero: true, seen: seenDeployment(done, 0, 0, 0)},
		"none wanted, some up":       {zero: true, seen: seenDeployment(done, 1, 1, 1), was: wasRolling()},
		"scaling up for too long":    {was: wasRolling(), ago: objects.ProgressDeadline, seen: seenDeployment(done, 2, 2, 1)},
		"a pod lost":                 {was: wasReady(), seen: seenDeployment(done, 2, 2, 1)},
		"a pod missing for a while":  {was: wasMissing(), ago: objects.ProgressDeadline - time.Second, seen: seenDeployment(done, 1, 1, 1)},
		"a pod missing for too long": {was: wasMissing(), ago: objects.ProgressDeadline, seen: seenDeployment(done, 1, 1, 1)},
		"still missing":              {was: wasOverdue(), seen: seenDeployment(done, 2, 2, 1)},
		"a pod lost to a crash": {was: wasReady(), seen: seenDeployment(done, 2, 2, 1),
			pod: `{phase: Running, containerStatuses: [{name: echo, state: {terminated: {exitCode: 1}}}]}`},
		"as desired, whatever a pod says": {was: wasReady(), seen: seenDeployment(done, 2, 2, 2), pod: containerWaits("ErrImagePull", "no")},
		"well again":                      {was: wasOverdue(), ago: time.Hour, seen: seenDeployment(done, 2, 2, 2)},

		"paused, a pod lost to a crash": {paused: true, was: wasReady(), seen: changedDeployment(seenDeployment(done, 2, 2, 1), twoWanted),
			pod: containerWaits("ErrImagePull", "no")},
		"paused, healthy":           {paused: true, zero: true, was: wasReady(), seen: changedDeployment(seenDeployment(done, 2, 2, 2), twoWanted)},
		"paused, a pod lost":        {paused: true, was: wasReady(), seen: changedDeployment(seenDeployment(done, 2, 2, 1), twoWanted)},
		"paused from the beginning": {paused: true},
		"over the limit":            {was: wasReady(), seen: seenDeployment(done, 2, 2, 2), err: &objects.InvalidSpecError{Message: "too many"}},
		"name taken":                {err: &objects.NameConflictError{Kind: "Service", Name: "x"}},
		"write refused":             {seen: seenDeployment(done, 2, 2, 2), err: errors.New("no")},
		"nothing known":             {err: errors.New("no")},
	}
}

func TestEvaluate_countsPods(t *testing.T) {
	g := NewWithT(t)
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Spec.Replicas = new(int32(1)) })
	d := &appsv1.Deployment{Status: appsv1.DeploymentStatus{Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, AvailableReplicas: 2}}
	got := Evaluate(echo, Observation{Deployment: d, Pods: []*objects.Pod{podWith(t, "p", `{}`)}}, nil, time.Now()).Status
	const message = "The pods are starting: 1 of 1 are ready."
	g.Expect(meta.FindStatusCondition(got.Conditions, v1.ConditionReady).Message).To(Equal(message), "more pods than wanted")
	got.Conditions = nil
	want := v1.EchoStatus{Phase: v1.PhasePending, Message: message, Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2, URL: "http://x.ns.svc",
		Selector: "app.kubernetes.io/instance=x,app.kubernetes.io/managed-by=echo-operator,app.kubernetes.io/name=echo",
		Pods:     map[string][]string{"Pending": {"p"}}}
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
		{false, true, nil, []int32{2, 2, 2}, LookPeriod}, {true, false, nil, []int32{2, 2, 1}, objects.ProgressDeadline},
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
		e.Status = v1.EchoStatus{Replicas: 4, UpdatedReplicas: 3, ReadyReplicas: 2}
	})
	for name, failure := range map[string]*Failure{"no failure": nil, "a name that is taken": Classify(&objects.NameConflictError{})} {
		got := Evaluate(echo, Observation{NoDeployment: true}, failure, time.Now()).Status
		g.Expect(got.Replicas+got.UpdatedReplicas+got.ReadyReplicas).To(BeZero(), name)
	}
	echo.Status.Pods = map[string][]string{"Pending": {"p"}}
	got := Evaluate(echo, Observation{}, Classify(errors.New("no")), time.Now()).Status
	g.Expect(got.Replicas).To(BeEquivalentTo(4), "without a successful read")
	g.Expect(got.Pods).To(Equal(echo.Status.Pods), "without a successful read")
}

// TestEvaluate_urlsOfAppliedSpec checks that the URLs in the status never come from an unapplied spec, and that they lead to the Echo's pods.
func TestEvaluate_urlsOfAppliedSpec(t *testing.T) {
	spec := v1.EchoSpec{Service: v1.EchoService{Port: 81}, Ingress: &v1.EchoIngress{Enabled: new(true), Host: "new.example.com"}}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "other", Port: 1}, {Name: "http", Port: 82}}}}
	seen := Observation{Service: service, Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(0))}}}
	for name, c := range map[string]struct {
		paused  bool
		failure *Failure
		without func(*Observation)
		want    string
	}{
		"applied": {want: "http://e.ns.svc:81 http://new.example.com"},
		"the Deployment's name is taken": {failure: Classify(&objects.NameConflictError{}),
			without: func(o *Observation) { o.Deployment, o.NoDeployment = nil, true }, want: " "},
		"the Service's name is taken": {failure: Classify(&objects.NameConflictError{}), without: func(o *Observation) { o.Service = nil }, want: " "},
		"the Ingress's name is taken": {failure: Classify(&objects.NameConflictError{}), want: "http://e.ns.svc:82 http://old.example.com"},
		"nothing can be read": {failure: Classify(errors.New("no")), without: func(o *Observation) { *o = Observation{} },
			want: "http://before http://old.example.com"},
		"paused": {paused: true, want: "http://e.ns.svc:82 http://old.example.com"},
		"refused": {failure: &Failure{Reason: v1.ReasonInvalidSpec, Err: errors.New("x"), NoRetry: true},
			want: "http://e.ns.svc:82 http://old.example.com"},
	} {
		echo := &v1.Echo{Namespace: "ns", Name: "e", Spec: spec}
		echo.Spec.Paused = c.paused
		echo.Status.URL, echo.Status.ExternalURL = "http://before", "http://old.example.com"
		seen := seen
		if c.without != nil {
			c.without(&seen)
		}
		got := Evaluate(echo, seen, c.failure, time.Unix(0, 0)).Status
		NewWithT(t).Expect(got.URL+" "+got.ExternalURL).To(Equal(c.want), name)
	}
}

// generatedReconciles is the number of generated reconciles. The seed is fixed, so that a failure is reproducible.
const generatedReconciles = 500

// clock is the time of the first generated reconcile. The API server stores this time without its fractional seconds.
var clock = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)

// generator generates random states of Echoes, and the observations that reconciles make of these states.
type generator struct {
	*rand.Rand
	texts []string
}

func newGenerator() generator {
	return generator{rand.New(rand.NewSource(1)), []string{"", "no", "a. b.\n", "exceeded quota: q", "é", strings.Repeat("é", 20000)}}
}

// text returns a message like the ones that other components report. Some messages are empty, and some are far too long.
func (g generator) text() string { return pick(g, g.texts...) }

// pick returns one of several values.
func pick[T any](g generator, all ...T) T { return all[g.Intn(len(all))] }

func (g generator) echo() *v1.Echo {
	return support.Echo("ns", "x", func(e *v1.Echo) {
		e.Generation, e.Spec.Replicas, e.Spec.Paused = 3, new(g.Int31n(4)), g.Intn(4) == 0
	})
}

func (g generator) deployment() *appsv1.Deployment {
	d := seenDeployment(pick(g, done, going, deploymentDeadlineExceeded), g.Int31n(4), g.Int31n(4), g.Int31n(4))
	d.Spec.Replicas, d.Generation = new(g.Int31n(4)), 2+g.Int63n(2)
	d.Annotations = pick(g, nil, map[string]string{revisionAnnotation: "2"})
	if g.Intn(4) == 0 {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: g.text()})
	}
	return d
}

func (g generator) pod(i int) *objects.Pod {
	p := &corev1.Pod{Namespace: "ns", Name: fmt.Sprintf("p%03d", i), CreationTimestamp: metav1.NewTime(clock)}
	p.Spec.NodeName = pick(g, "", "n1", "n2")
	p.Status.Phase = pick(g, corev1.PodPending, corev1.PodRunning, corev1.PodFailed, corev1.PodSucceeded, corev1.PodUnknown)
	p.Status.Message = g.text()
	p.Status.Conditions = pick(g, nil,
		[]corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: g.text()}},
		[]corev1.PodCondition{{Type: corev1.PodReady, Status: pick(g, yesPod, noPod)}})
	ended := &corev1.ContainerStateTerminated{ExitCode: g.Int31n(2), Message: g.text(), Reason: pick(g, "", "Error", "OOMKilled")}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pick(g, "echo", "mesh"), Image: "i", RestartCount: g.Int31n(2),
		State: pick(g, corev1.ContainerState{}, corev1.ContainerState{Terminated: ended},
			corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
				Reason: pick(g, "", "ErrImagePull", "CrashLoopBackOff", "CreateContainerError"), Message: g.text()}}),
		LastTerminationState: pick(g, corev1.ContainerState{}, corev1.ContainerState{Terminated: ended})}}
	return objects.PodOf(p)
}

const yesPod, noPod = corev1.ConditionTrue, corev1.ConditionFalse

func (g generator) observation() Observation {
	seen := Observation{Deployment: g.deployment(), Pods: []*objects.Pod{}, Nodes: map[string]Node{}}
	for i := range pick(g, 0, 1, 3, 60) {
		seen.Pods = append(seen.Pods, g.pod(i))
	}
	for name, count := range PodsByNode(seen.Pods) {
		seen.Nodes[name] = Node{count, ProblemsOf(pick(g, nil, node(false, fine), node(true, notReady, corev1.NodeCondition{
			Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue, Message: g.text()})))}
	}
	return seen
}

// failure returns the error of a reconcile, which is usually nil.
func (g generator) failure() error {
	things := schema.GroupResource{Resource: "things"}
	return pick[error](g, nil, nil, nil, nil, errors.New(g.text()+"!"), &objects.InvalidSpecError{Message: "Too many", Quote: g.text()},
		&objects.RequestError{Action: "applied", Kind: "Ingress", Err: errors.New(g.text())},
		&objects.NameConflictError{Kind: "Service", Name: "x"}, apierrors.NewForbidden(things, "x", errors.New(g.text())))
}

// reconcile reconciles an Echo once more, some time after the last reconcile.
func (g generator) reconcile(echo *v1.Echo, now time.Time) (Report, Observation, error) {
	seen, err := g.observation(), g.failure()
	if (echo.Spec.Paused || err != nil) && g.Intn(2) == 0 { // an Echo may be paused, or a read may fail, before a Deployment exists
		seen = Observation{}
	}
	return Evaluate(echo, seen, Classify(err), now), seen, err
}

// TestEvaluate_writesValidStatus follows one Echo through generated reconciles, and checks the properties that every status must have. It
// repeats each reconcile immediately: a status that differed each time would be written endlessly, because each write causes a watch event.
func TestEvaluate_writesValidStatus(t *testing.T) {
	g, now := newGenerator(), clock
	phases := []string{v1.PhasePending, v1.PhaseUpdating, v1.PhaseReady, v1.PhaseWarning, v1.PhaseFailed}
	echo := g.echo()
	for i := range generatedReconciles {
		echo.Spec = g.echo().Spec
		now = now.Add(pick(g, 0, time.Second, objects.ProgressDeadline))
		report, seen, err := g.reconcile(echo, now)
		status := report.Status
		checkConditions(t, status.Conditions)
		if n := len(status.Message); n > 300 || !utf8.ValidString(status.Message) {
			t.Errorf("the message has %d bytes: %q", n, status.Message)
		}
		checkMessage(t, status.Message)
		for state, names := range status.Pods {
			if len(names) > maxNames {
				t.Errorf("%d pods are %s", len(names), state)
			}
		}
		if ready := meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady); ready != (status.Phase == v1.PhaseReady) ||
			!slices.Contains(phases, status.Phase) {
			t.Errorf("Ready is %t in the phase %q", ready, status.Phase)
		}
		if degraded := meta.IsStatusConditionTrue(status.Conditions, v1.ConditionDegraded); degraded && status.Phase != v1.PhaseWarning &&
			status.Phase != v1.PhaseFailed {
			t.Errorf("the Echo is degraded in the phase %q", status.Phase)
		}
		if report.Next < 0 || report.Next > objects.ProgressDeadline {
			t.Errorf("the next reconcile is due in %s", report.Next)
		}
		sent := map[[2]string]bool{}
		for _, n := range report.Transitions {
			key := [2]string{n.Reason.String(), fmt.Sprint(n.Related)}
			if sent[key] {
				t.Errorf("two events about %s differ only in their notes, so that the second is lost", key)
			}
			sent[key] = true
			if note := n.EventNote(); note == "" || len(note) > maxNote || !utf8.ValidString(note) || n.Action == "" {
				t.Errorf("the event %s has the action %q and a note of %d bytes", n.Reason, n.Action, len(note))
			}
		}
		if t.Failed() {
			t.FailNow()
		}
		echo.Status = status
		again := Evaluate(echo, seen, Classify(err), now)
		NewWithT(t).Expect(again.Status).To(BeComparableTo(status), "reconcile %d: the status differs", i)
		NewWithT(t).Expect(again.Transitions).To(BeNil(), "reconcile %d", i)
	}
}

// checkMessage checks that a message begins with a capital letter or a number, and ends with a period or, if it is truncated, with an
// ellipsis. A message has no backslashes, because text from other components is quoted without escapes.
func checkMessage(t *testing.T, text string) {
	t.Helper()
	if first, _ := utf8.DecodeRuneInString(text); !unicode.IsUpper(first) && !unicode.IsDigit(first) || !strings.HasSuffix(text, ".") || strings.ContainsAny(text, "\\\n") {
		t.Errorf("the message %q", text)
	}
}

// checkConditions checks that each of the three conditions exists once, that the API server accepts them, and that only an Echo that is
// degraded and not ready is stalled.
func checkConditions(t *testing.T, conditions []metav1.Condition) {
	t.Helper()
	valid := regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
	var kinds []string
	for _, c := range conditions {
		kinds = append(kinds, c.Type)
		if !valid.MatchString(c.Reason) || c.LastTransitionTime.IsZero() || c.LastTransitionTime.Nanosecond() != 0 || c.ObservedGeneration != 3 {
			t.Errorf("the condition is not valid: %+v", c)
		}
		if len(c.Message) > message.MaxCondition || !utf8.ValidString(c.Message) {
			t.Errorf("the message of %s has %d bytes", c.Type, len(c.Message))
		}
		checkMessage(t, c.Message)
	}
	want := []string{v1.ConditionReady, v1.ConditionProgressing, v1.ConditionDegraded}
	if stalled := meta.FindStatusCondition(conditions, v1.ConditionStalled); stalled != nil {
		want = append(want, v1.ConditionStalled)
		if ready := meta.FindStatusCondition(conditions, v1.ConditionReady); stalled.Status != metav1.ConditionTrue ||
			ready.Status == metav1.ConditionTrue || ready.Reason != stalled.Reason ||
			!meta.IsStatusConditionTrue(conditions, v1.ConditionDegraded) {
			t.Errorf("Stalled is %s: %+v", stalled.Status, conditions)
		}
	}
	NewWithT(t).Expect(kinds).To(BeComparableTo(want))
}

// statusTime is the time at which the statuses of all cases are evaluated.
var statusTime = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// evaluate returns an Echo with generation 4 and the status of the case.
func (c statusCase) evaluate(t *testing.T) *v1.Echo {
	t.Helper()
	echo := support.Echo("ns", "x", func(e *v1.Echo) {
		e.Generation = 4
		e.Spec.Paused = c.paused
		if c.zero {
			e.Spec.Replicas = new(int32(0))
		}
	})
	if c.was != nil {
		record(&echo.Status, *c.was, 3, statusTime.Add(-c.ago))
	}
	seen := Observation{Deployment: c.seen}
	if c.pod != "" {
		seen.Pods = []*objects.Pod{podWith(t, "p", c.pod)}
	}
	echo.Status = Evaluate(echo, seen, Classify(c.err), statusTime).Status
	return echo
}

// TestEvaluate_matchesStoredEchoes compares the Echoes from the cases, as well as deleted Echoes, with a file in testdata. Tests in other
// modules read this file. UPDATE=1 rewrites the file.
func TestEvaluate_matchesStoredEchoes(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	for name, c := range statusCases() {
		lines = append(lines, stored(t, name, c.evaluate(t)))
	}
	for name, failure := range map[string]*Failure{"deleted": nil, "deletion refused": Classify(errors.New("no"))} {
		echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Generation = 4 })
		echo.Status = EvaluateDeletion(echo, Observation{Deployment: seenDeployment(done, 2, 2, 1)}, failure, statusTime).Status
		lines = append(lines, stored(t, name, echo))
	}
	slices.Sort(lines)
	got := "# Written by TestEvaluate_matchesStoredEchoes with UPDATE=1.\n" + strings.Join(lines, "")
	const file = "testdata/echoes.yaml"
	if os.Getenv("UPDATE") != "" {
		g.Expect(os.WriteFile(file, []byte(got), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal(string(want)), "the Echoes differ from %s: UPDATE=1 rewrites the file", file)
}

// stored returns one line of YAML with the fields that determine an Echo's health. It omits messages, because their texts change often.
func stored(t *testing.T, name string, echo *v1.Echo) string {
	t.Helper()
	type object map[string]any
	conditions := []object{}
	for _, c := range echo.Status.Conditions {
		conditions = append(conditions, object{"type": c.Type, "status": c.Status, "reason": c.Reason})
	}
	line, err := json.Marshal(object{
		"metadata": object{"generation": echo.Generation},
		"spec":     object{"paused": echo.Spec.Paused},
		"status": object{"observedGeneration": echo.Status.ObservedGeneration, "phase": echo.Status.Phase, "message": "m",
			"conditions": conditions},
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("%s: %s\n", name, line)
}

const (
	current = kstatus.CurrentStatus
	pending = kstatus.InProgressStatus
	failed  = kstatus.FailedStatus
)

// stalling contains what kstatus reports for an Echo, both immediately and after an hour. ready is true if the Echo is ready.
type stalling struct {
	ready       bool
	first, last kstatus.Status
}

// reasonsOfConditions returns the values of the constants for condition reasons.
func reasonsOfConditions(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1/echo_reasons.go", nil, parser.SkipObjectResolution)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var names []string
	ast.Inspect(file, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Reason") {
			names = append(names, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	return names
}

// kstatusOf returns what kstatus reports for an Echo with the given status.
func kstatusOf(t *testing.T, status *v1.EchoStatus) kstatus.Status {
	t.Helper()
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Generation, e.Status = status.ObservedGeneration, *status })
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(echo)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: object})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return result.Status
}

func TestStallsBy_allReasons(t *testing.T) {
	var named []string
	for want, reasons := range map[stalling][]v1.Reason{
		{true, current, current}: {v1.ReasonAllPodsReady, v1.ReasonScaledToZero, v1.ReasonRolledOut, v1.ReasonAsExpected, v1.ReasonChecksPassed,
			// an Echo's readiness depends only on its pods
			v1.ReasonGatewayAPIMissing, v1.ReasonRouteNotAccepted, v1.ReasonCheckFailed, v1.ReasonCheckUnknown},
		{false, pending, pending}: {v1.ReasonRollingOut, v1.ReasonPodsNotReady, v1.ReasonProgressDeadlineExceeded, v1.ReasonQuotaExceeded,
			v1.ReasonDeploymentPaused, v1.ReasonNodeProblem, v1.ReasonUnschedulable, v1.ReasonImagePullFailed, v1.ReasonContainerNotStarted,
			v1.ReasonPodsCrashing, v1.ReasonPodFailed, v1.ReasonDeletionBlocked, v1.ReasonPaused, v1.ReasonDeleting},
		{false, pending, failed}: {v1.ReasonPodsRejected, v1.ReasonServiceAccountNotFound, v1.ReasonForbidden, v1.ReasonApplyFailed},
		{false, failed, failed}:  {v1.ReasonInvalidSpec, v1.ReasonNameConflict},
	} {
		for _, reason := range reasons {
			named = append(named, reason.String())
			v := outcome{ready: metav1.ConditionFalse, readyReason: reason, degraded: metav1.ConditionTrue, degradedReason: reason,
				progressing: metav1.ConditionFalse, progressingReason: reason, stalls: stallsBy(reason)}
			if want.ready {
				v.ready, v.stalls = metav1.ConditionTrue, stallsAtOnce // stalls is ignored
			}
			got, status := stalling{ready: want.ready}, &v1.EchoStatus{ObservedGeneration: 1}
			record(status, v, 1, clock)
			got.first = kstatusOf(t, status)
			record(status, v, 1, clock.Add(time.Hour))
			got.last = kstatusOf(t, status)
			NewWithT(t).Expect(got).To(Equal(want), reason.String())
		}
	}
	NewWithT(t).Expect(named).To(ConsistOf(reasonsOfConditions(t)), "each reason needs a row")
}

// stalledAt runs a first reconcile, and then reconciles at the given times after the first. It returns the Stalled condition's status and
// reason, and the time until the next reconcile.
func stalledAt(failure func() *Failure, seen Observation, after ...time.Duration) (reason string, next time.Duration) {
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Generation = 1 })
	for _, after := range slices.Concat([]time.Duration{0}, after) {
		report := Evaluate(echo, seen, failure(), clock.Truncate(time.Second).Add(after))
		echo.Status, next = report.Status, report.Next
	}
	if stalled := meta.FindStatusCondition(echo.Status.Conditions, v1.ConditionStalled); stalled != nil {
		reason = string(stalled.Status) + " " + stalled.Reason
	}
	return reason, next
}

func TestEvaluate_stalls(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	refused := refusedPods(`pods "x" is forbidden: violates PodSecurity`)
	forbidden, invalid := apierrors.NewForbidden(things, "x", errors.New("no")), apierrors.NewInvalid(schema.GroupKind{}, "x", nil)
	for name, c := range map[string]struct {
		err         error
		seen        Observation
		first, last string
	}{
		"a spec that the operator refuses":    {&objects.InvalidSpecError{Message: "no"}, Observation{}, "True InvalidSpec", "True InvalidSpec"},
		"a name that is taken":                {&objects.NameConflictError{}, Observation{}, "True NameConflict", "True NameConflict"},
		"a spec that the API server refuses":  {invalid, Observation{}, "", "True InvalidSpec"},
		"a missing permission":                {forbidden, Observation{}, "", "True Forbidden"},
		"a denial":                            {coded(400, `admission webhook "w" denied the request`), Observation{}, "", "True Forbidden"},
		"a request that is too large":         {apierrors.NewRequestEntityTooLargeError("no"), Observation{}, "", "True ApplyFailed"},
		"an outage":                           {apierrors.NewInternalError(errors.New("no")), Observation{}, "", ""},
		"an API server that is busy":          {apierrors.NewTooManyRequests("later", 1), Observation{}, "", ""},
		"no connection":                       {errors.New("no"), Observation{}, "", ""},
		"a quota":                             {apierrors.NewForbidden(things, "x", errors.New("exceeded quota: q")), Observation{}, "", ""},
		"pods that the API server refuses":    {nil, refused, "", "True PodsRejected"},
		"pods that exceed a quota":            {nil, refusedPods(`pods "x" is forbidden: exceeded quota: q`), "", ""},
		"pods that the API server may accept": {nil, refusedPods(`pods "x" is forbidden: failed calling webhook "w": timeout`), "", ""},
	} {
		failure := func() *Failure { return Classify(c.err) }
		first, _ := stalledAt(failure, c.seen)
		early, _ := stalledAt(failure, c.seen, 59*time.Second)
		last, _ := stalledAt(failure, c.seen, time.Minute)
		overdue, _ := stalledAt(failure, c.seen, time.Minute, time.Hour, 2*time.Hour)
		if first != c.first || early != c.first || last != c.last || overdue != c.last {
			t.Errorf("%s: Stalled is %q, %q, %q, %q", name, first, early, last, overdue)
		}
	}
}

// refusedPods returns an observation of a Deployment whose pods the API server rejects.
func refusedPods(message string) Observation {
	d := seenDeployment(going, 0, 0, 0)
	d.Status.Conditions = append(d.Status.Conditions,
		appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: message})
	return Observation{Deployment: d}
}

// TestEvaluate_looksAgainWhenARefusalStalls checks that a reconcile is due exactly when a rejection causes the Echo to stall. Each earlier
// wait equals the time that the rejection has lasted.
func TestEvaluate_looksAgainWhenARefusalStalls(t *testing.T) {
	g := NewWithT(t)
	refused := func() *Failure {
		return Classify(apierrors.NewForbidden(schema.GroupResource{}, "x", errors.New("no")))
	}
	var times []time.Duration
	for range 8 {
		_, next := stalledAt(refused, Observation{}, times...)
		last := time.Duration(0)
		if len(times) > 0 {
			last = times[len(times)-1]
		}
		times = append(times, last+next)
	}
	seconds := func(n time.Duration) time.Duration { return n * time.Second }
	g.Expect(times).To(HaveExactElements(
		seconds(2), seconds(4), seconds(8), seconds(16), seconds(32), seconds(60), seconds(120), seconds(180)))
	_, next := stalledAt(func() *Failure { return nil }, refusedPods("no"), 20*time.Second)
	g.Expect(next).To(Equal(seconds(40)))
	_, next = stalledAt(func() *Failure { return nil }, refusedPods("no"), 20*time.Second, time.Minute)
	g.Expect(next).NotTo(BeZero(), "the progress deadline")
	g.Expect(next).NotTo(Equal(LookPeriod))
}
