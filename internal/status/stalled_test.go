package status

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
	"time"

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
	"github.com/echo-operator/echo-operator/tests/support"
)

const (
	current = kstatus.CurrentStatus
	pending = kstatus.InProgressStatus
	failed  = kstatus.FailedStatus
)

// stallRow contains what kstatus reports for an Echo with a given reason, both immediately and after an hour. ready is true if the Echo is
// ready.
type stallRow struct {
	ready       bool
	first, last kstatus.Status
}

// stallRows returns a row for each condition reason.
func stallRows() map[v1.Reason]stallRow {
	ready, waits := stallRow{true, current, current}, stallRow{false, pending, pending}
	refused, atOnce := stallRow{false, pending, failed}, stallRow{false, failed, failed}
	return map[v1.Reason]stallRow{
		v1.ReasonAllPodsReady:             ready,
		v1.ReasonScaledToZero:             ready,
		v1.ReasonRollingOut:               waits,
		v1.ReasonRolledOut:                ready,
		v1.ReasonPodsNotReady:             waits,
		v1.ReasonProgressDeadlineExceeded: waits,
		v1.ReasonQuotaExceeded:            waits,
		v1.ReasonPodsRejected:             refused,
		v1.ReasonServiceAccountNotFound:   refused,
		v1.ReasonDeploymentPaused:         waits,
		v1.ReasonNodeProblem:              waits,
		v1.ReasonUnschedulable:            waits,
		v1.ReasonImagePullFailed:          waits,
		v1.ReasonContainerNotStarted:      waits,
		v1.ReasonPodsCrashing:             waits,
		v1.ReasonPodFailed:                waits,
		v1.ReasonGatewayAPIMissing:        ready, // an Echo's readiness depends only on its pods
		v1.ReasonRouteNotAccepted:         ready,
		v1.ReasonAsExpected:               ready,
		v1.ReasonInvalidSpec:              atOnce,
		v1.ReasonNameConflict:             atOnce,
		v1.ReasonForbidden:                refused,
		v1.ReasonApplyFailed:              refused,
		v1.ReasonChecksPassed:             ready,
		v1.ReasonCheckFailed:              ready,
		v1.ReasonCheckUnknown:             ready,
		v1.ReasonPaused:                   waits,
		v1.ReasonDeleting:                 waits,
	}
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
	rows := stallRows()
	var named []string
	for reason := range rows {
		named = append(named, reason.String())
	}
	NewWithT(t).Expect(named).To(ConsistOf(reasonsOfConditions(t)), "each reason needs a row")
	for reason, row := range rows {
		v := outcome{ready: metav1.ConditionFalse, readyReason: reason, degraded: metav1.ConditionTrue, degradedReason: reason,
			progressing: metav1.ConditionFalse, progressingReason: reason, stalls: stallsBy(reason)}
		if row.ready {
			v.ready, v.stalls = metav1.ConditionTrue, stallsAtOnce // stalls is ignored
		}
		status := &v1.EchoStatus{ObservedGeneration: 1}
		for after, want := range map[time.Duration]kstatus.Status{0: row.first, time.Hour: row.last} {
			status.Conditions = nil
			record(status, v, 1, clock)
			record(status, v, 1, clock.Add(after))
			if got := kstatusOf(t, status); got != want {
				t.Errorf("%s after %s: kstatus says %s, want %s", reason, after, got, want)
			}
		}
	}
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

func TestEvaluate_recoversFromStalled(t *testing.T) {
	echo := support.Echo("ns", "x", func(e *v1.Echo) { e.Generation = 1 })
	echo.Status = Evaluate(echo, Observation{}, Classify(&objects.InvalidSpecError{Message: "no"}), clock).Status
	deleting := EvaluateDeletion(echo, Observation{}, Classify(errors.New("no")), clock).Status
	seen := Observation{Deployment: seenDeployment(going, 2, 2, 1)}
	recovering := Evaluate(echo, seen, nil, clock).Status
	for name, status := range map[string]v1.EchoStatus{"deleting": deleting, "recovering": recovering} {
		if meta.FindStatusCondition(status.Conditions, v1.ConditionStalled) != nil {
			t.Errorf("%s: Stalled remains", name)
		}
	}
}
