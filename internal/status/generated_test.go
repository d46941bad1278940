package status

import (
	"errors"
	"fmt"
	"math/rand"
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
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"

	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/tests/support"
)

// generatedReconciles is the number of reconciles that each test generates. The seed is fixed, so that a failure is reproducible.
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

func (g generator) pod(i int) corev1.Pod {
	p := corev1.Pod{Namespace: "ns", Name: fmt.Sprintf("p%03d", i), CreationTimestamp: metav1.NewTime(clock)}
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
	return p
}

const yesPod, noPod = corev1.ConditionTrue, corev1.ConditionFalse

func (g generator) observation() Observation {
	seen := Observation{Deployment: g.deployment(), Pods: []corev1.Pod{}, Companions: []corev1.Pod{}, Nodes: map[string]Node{}}
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
		&objects.RequestError{Action: objects.Applying, Kind: "Ingress", Err: errors.New(g.text())},
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

// TestEvaluate_writesValidStatus follows one Echo through generated reconciles, and checks the properties that every status must have.
func TestEvaluate_writesValidStatus(t *testing.T) {
	g, now := newGenerator(), clock
	phases := []string{v1.PhasePending, v1.PhaseUpdating, v1.PhaseReady, v1.PhaseWarning, v1.PhaseFailed}
	echo := g.echo()
	for range generatedReconciles {
		echo.Spec = g.echo().Spec
		now = now.Add(pick(g, 0, time.Second, objects.ProgressDeadline))
		report, _, _ := g.reconcile(echo, now)
		status := report.Status
		checkConditions(t, status.Conditions)
		if n := len(status.Message); n > 300 || !utf8.ValidString(status.Message) {
			t.Errorf("the message has %d bytes: %q", n, status.Message)
		}
		checkMessage(t, status.Message)
		for state, names := range status.Pods {
			if len(names) > maxPodNames {
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

// TestEvaluate_sameReconcileTwiceReportsNothing repeats each reconcile immediately, with the status that the reconcile wrote. A status that
// differed each time would be written again and again, because each write causes a watch event.
func TestEvaluate_sameReconcileTwiceReportsNothing(t *testing.T) {
	g, now := newGenerator(), clock
	echo := g.echo()
	for i := range generatedReconciles {
		echo.Spec = g.echo().Spec
		now = now.Add(pick(g, 0, time.Second, objects.ProgressDeadline))
		report, seen, err := g.reconcile(echo, now)
		echo.Status = report.Status
		again := Evaluate(echo, seen, Classify(err), now)
		NewWithT(t).Expect(again.Status).To(BeComparableTo(report.Status), "reconcile %d: the status differs", i)
		NewWithT(t).Expect(again.Transitions).To(BeNil(), "reconcile %d", i)
	}
}
