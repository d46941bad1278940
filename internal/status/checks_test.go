package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
	"github.com/echo-operator/echo-operator/tests/support"
)

var checkTime = time.Unix(1_000_000, 0).UTC()

// checkedEcho returns an Echo with a check and the status of that check.
func checkedEcho(was v1.EchoCheckStatus, changes ...func(*v1.Echo)) *v1.Echo {
	was.Name = "path"
	return support.Echo("ns", "web", append([]func(*v1.Echo){func(e *v1.Echo) {
		e.Generation, e.Spec.Replicas = 3, new(int32(1))
		e.Spec.Checks = []v1.EchoCheck{{Name: "path", Schedule: "@hourly", DeadlineSeconds: 60}}
		e.Status.ExternalURL = "http://web.example.com"
		e.Status.Checks = []v1.EchoCheckStatus{was}
	}}, changes...)...)
}

// ended returns a check's pod that finished a number of seconds after checkTime. The pod was created ten seconds before it finished.
func ended(seconds int, code int32, message string) *objects.Pod {
	return objects.PodOf(&corev1.Pod{
		Name:              "web-path-1-x",
		CreationTimestamp: metav1.NewTime(checkTime.Add(time.Duration(seconds-10) * time.Second)),
		Annotations:       map[string]string{v1.AppliedHashAnnotation: "h"},
		Status: corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: []corev1.ContainerStatus{{Name: objects.CheckContainer,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: message,
				FinishedAt: metav1.NewTime(checkTime.Add(time.Duration(seconds) * time.Second))}}}}},
	})
}

func found(v verdict.Verdict) *objects.Pod { return ended(0, 0, string(v.Encode())) }

func evaluateCheck(echo *v1.Echo, seen CheckRuns) (v1.EchoCheckStatus, Report) {
	seen.Hash = "h"
	report := EvaluateChecks(echo, ChecksObservation{Checks: map[string]CheckRuns{"path": seen}}, checkTime.Add(10*time.Second))
	return report.Status.Checks[0], report
}

func TestEvaluate_result(t *testing.T) {
	passed := verdict.Verdict{Facts: 1}
	failed := verdict.Verdict{Facts: 1,
		Failed:  []verdict.Unmet{{Name: "client.address", Want: "kept", Got: "replaced"}, {Name: "tls.daysLeft", Want: ">=14", Got: "3"}},
		Unknown: []verdict.Unknown{{Name: "body.max", Reason: "errors"}}, Unfinished: verdict.DeadlinePassed}
	unknown := verdict.Verdict{Facts: 1,
		Unknown: []verdict.Unknown{{Name: "client.address", Reason: "errors"}, {Name: "a", Reason: "slow path"}}}
	late := verdict.Verdict{Facts: 1, Unfinished: verdict.DeadlinePassed,
		Unknown: []verdict.Unknown{{Name: "a", Reason: verdict.DeadlinePassed}}}
	for name, c := range map[string]struct {
		pods    []*objects.Pod
		was     v1.CheckResult
		change  func(*v1.Echo)
		want    v1.CheckResult
		message string
	}{
		"no run yet":   {nil, "", nil, v1.CheckUnknown, notRunYet},
		"a run passed": {[]*objects.Pod{found(passed)}, "", nil, v1.CheckPassed, ""},
		"expectations are not met": {[]*objects.Pod{found(failed)}, v1.CheckPassed, nil, v1.CheckFailed,
			"client.address is replaced, expected kept. tls.daysLeft is 3, expected >=14."},
		"expectations are unknown": {[]*objects.Pod{found(unknown)}, v1.CheckPassed, nil, v1.CheckUnknown,
			"client.address is unknown: errors. a is unknown: slow path."},
		"no Echo responds": {[]*objects.Pod{found(verdict.Verdict{Problem: "no response from a:80"})}, "", nil, v1.CheckFailed,
			`No Echo responds: "no response from a:80".`},
		"a run that did not finish": {[]*objects.Pod{found(late)}, v1.CheckFailed, nil, v1.CheckUnknown,
			"a is unknown: the deadline of the run has passed. Raise deadlineSeconds, or examine fewer groups."},
		"a run that found what it expected": {[]*objects.Pod{found(verdict.Verdict{Facts: 1, Unfinished: "reset"})}, v1.CheckFailed, nil,
			v1.CheckPassed, ""},
		"a run that found nothing": {[]*objects.Pod{found(verdict.Verdict{Unfinished: "reset"})}, v1.CheckFailed, nil, v1.CheckUnknown,
			"The last run found no fact: reset."},
		"a run that crashed": {[]*objects.Pod{ended(0, 137, "")}, v1.CheckPassed, nil, v1.CheckUnknown,
			"it exited with code 137 (Error)"},
		"a pod of another client": {[]*objects.Pod{ended(0, 0, `{"facts":1,"failed":[{"name":"<b>"}]}`)}, v1.CheckPassed, nil,
			v1.CheckUnknown, "no valid result: it has a fact whose name is not valid."},
		"the last of two runs counts": {[]*objects.Pod{found(failed), ended(5, 0, string(passed.Encode()))}, "", nil, v1.CheckPassed, ""},
		"a pod of an old configuration": {[]*objects.Pod{func() *objects.Pod { p := found(failed); p.AppliedHash = ""; return p }()}, v1.CheckPassed,
			nil, v1.CheckPassed, ""},
		"the pods are gone": {nil, v1.CheckFailed, nil, v1.CheckFailed, "as before"},
		"scaled down":       {[]*objects.Pod{found(passed)}, v1.CheckPassed, func(e *v1.Echo) { e.Spec.Replicas = new(int32(0)) }, v1.CheckUnknown, scaledDown},
		"no URL":            {nil, "", func(e *v1.Echo) { e.Status.ExternalURL = "" }, v1.CheckUnknown, withoutURL},
	} {
		was := v1.EchoCheckStatus{Result: c.was}
		if c.was == v1.CheckFailed {
			was.Message = "as before"
		}
		echo := checkedEcho(was)
		if c.change != nil {
			c.change(echo)
		}
		if got, _ := evaluateCheck(echo, CheckRuns{Pods: c.pods}); got.Result != c.want || !strings.Contains(got.Message, c.message) ||
			(got.Message == "") != (c.message == "") {
			t.Errorf("%s: %s, %q", name, got.Result, got.Message)
		}
	}
}

// TestEvaluate_lacksProxy checks that a check without a response names the missing proxy, also after its pod is gone.
func TestEvaluate_lacksProxy(t *testing.T) {
	echo := checkedEcho(v1.EchoCheckStatus{})
	seen := CheckRuns{Pods: []*objects.Pod{found(verdict.Verdict{Problem: "no response from a:80"})}, LacksProxy: true}
	for range 2 {
		got, _ := evaluateCheck(echo, seen)
		if got.Message != `No Echo responds: "no response from a:80". The check does not use the operator's proxy, `+
			`because users of the namespace could read the password in the proxy's URL.` {
			t.Errorf("the message is %q", got.Message)
		}
		echo.Status.Checks, seen.Pods = []v1.EchoCheckStatus{got}, nil
	}
	passed := CheckRuns{Pods: []*objects.Pod{found(verdict.Verdict{Facts: 1})}, LacksProxy: true}
	if got, _ := evaluateCheck(echo, passed); got.Message != "" {
		t.Errorf("a check that passed has the message %q", got.Message)
	}
}

// TestEvaluate_silence checks that a check fails if the path may be down, and has no result only if its pod gets no response at all.
func TestEvaluate_silence(t *testing.T) {
	const unknown, failed = v1.CheckUnknown, v1.CheckFailed
	for name, c := range map[string]struct {
		silent  verdict.Silence
		problem string
		want    v1.CheckResult
		message string
	}{
		"nothing responds": {verdict.SilentAll, "no response from a:80: i/o timeout", unknown,
			"Requests do not seem to leave the pod: neither a:80 nor the Service responds. " +
				"Allow egress to both in the NetworkPolicies of the namespace."},
		"the resolver is silent": {verdict.SilentResolver, "no response from a:80: DNS does not respond", unknown,
			"The DNS resolver of the cluster does not respond. Allow egress to its port 53 in the NetworkPolicies of the namespace."},
		"the Service responds": {verdict.SilentURL, "no response from a:80: i/o timeout", failed,
			`No Echo responds: "no response from a:80: i/o timeout". Either the path is down, or a NetworkPolicy drops egress to a:80.`},
		"a refused connection": {"", "no response from a:80: connect: connection refused", failed,
			`No Echo responds: "no response from a:80: connect: connection refused".`},
	} {
		v := verdict.Verdict{Problem: c.problem, Silent: c.silent, Address: "a:80"}
		before := new(metav1.NewTime(checkTime.Add(-time.Hour)))
		for _, was := range []v1.CheckResult{v1.CheckPassed, v1.CheckFailed, v1.CheckUnknown} {
			echo := checkedEcho(v1.EchoCheckStatus{Result: was, LastConclusiveTime: before})
			got, _ := evaluateCheck(echo, CheckRuns{Pods: []*objects.Pod{found(v)}})
			if got.Result != c.want || got.Message != c.message || got.LastConclusiveTime.Equal(before) != (c.want == unknown) {
				t.Errorf("%s after %s: %+v", name, was, got)
			}
		}
	}
}

func TestEvaluate_verdictIsDue(t *testing.T) {
	unschedulable := objects.PodOf(&corev1.Pod{Name: "web-path-2-y", CreationTimestamp: metav1.NewTime(checkTime),
		Status: corev1.PodStatus{Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/1 nodes are available"}}}})
	notStarted := objects.PodOf(&corev1.Pod{Name: "web-path-2-y", CreationTimestamp: metav1.NewTime(checkTime), Status: corev1.PodStatus{
		ContainerStatuses: []corev1.ContainerStatus{{Name: "check", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerError", Message: "no such file"}}}}}})
	crashed := objects.PodOf(&corev1.Pod{Name: "web-path-2-y", Namespace: "shop", CreationTimestamp: metav1.NewTime(checkTime),
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "mesh", RestartCount: 1,
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}}}}})
	running := objects.PodOf(&corev1.Pod{CreationTimestamp: metav1.NewTime(checkTime),
		Status: corev1.PodStatus{Phase: corev1.PodRunning}})
	before := metav1.NewTime(checkTime.Add(-time.Hour))
	for name, c := range map[string]struct {
		ago     time.Duration // the time since a run should have begun
		pods    []*objects.Pod
		last    *metav1.Time
		want    v1.CheckResult
		message string
		next    time.Duration
	}{
		"not yet": {100 * time.Second, nil, &before, v1.CheckPassed, "", 50 * time.Second},
		"no pod":  {3 * time.Minute, nil, &before, v1.CheckUnknown, "its Job has created no pod", 0},
		"not scheduled": {3 * time.Minute, []*objects.Pod{unschedulable}, &before, v1.CheckUnknown,
			`Pod of the check cannot be scheduled: "0/1 nodes are available". Check spec.nodeSelector,`, 0},
		"not started": {3 * time.Minute, []*objects.Pod{notStarted}, &before, v1.CheckUnknown,
			`Container check of the pod cannot be started: "no such file".`, 0},
		"crashed": {3 * time.Minute, []*objects.Pod{crashed}, &before, v1.CheckUnknown,
			"Container mesh of the pod terminated with exit code 3. Run 'kubectl logs --previous -n shop POD -c mesh' to see why.", 0},
		"no pod but the last": {3 * time.Minute, []*objects.Pod{ended(-3600, 0, `{"facts":1}`)}, &before, v1.CheckUnknown,
			"its Job has created no pod", 0},
		"a node is behind":    {3 * time.Minute, []*objects.Pod{shifted(-time.Minute)}, &before, v1.CheckPassed, "", 0},
		"a node is ahead":     {3 * time.Minute, []*objects.Pod{shifted(time.Hour)}, &before, v1.CheckPassed, "", 0},
		"still running":       {3 * time.Minute, []*objects.Pod{running}, &before, v1.CheckUnknown, "did not finish in time", 0},
		"never run, no pod":   {3 * time.Minute, nil, nil, v1.CheckUnknown, "its Job has created no pod", 0},
		"it is there":         {3 * time.Minute, []*objects.Pod{ended(-150, 0, `{"facts":1}`)}, &before, v1.CheckPassed, "", 0},
		"it is in the status": {3 * time.Minute, nil, &metav1.Time{Time: checkTime.Add(-150 * time.Second)}, v1.CheckPassed, "", 0},
		"of another check": {3 * time.Minute, []*objects.Pod{func() *objects.Pod { p := ended(-150, 0, ""); p.AppliedHash = ""; return p }()},
			&before, v1.CheckPassed, "", 0},
	} {
		echo := checkedEcho(v1.EchoCheckStatus{Result: v1.CheckPassed, LastConclusiveTime: c.last})
		got, report := evaluateCheck(echo, CheckRuns{Pods: c.pods, Scheduled: checkTime.Add(10*time.Second - c.ago)})
		if got.Result != c.want || !strings.Contains(got.Message, c.message) || report.Next != c.next {
			t.Errorf("%s: %s, %q, next in %s", name, got.Result, got.Message, report.Next)
		}
	}
}

func TestPathsHealthy(t *testing.T) {
	for name, c := range map[string]struct {
		results []v1.CheckResult
		want    metav1.ConditionStatus
		reason  v1.Reason
	}{
		"passed":            {[]v1.CheckResult{v1.CheckPassed, v1.CheckPassed}, metav1.ConditionTrue, v1.ReasonChecksPassed},
		"one failed":        {[]v1.CheckResult{v1.CheckPassed, v1.CheckUnknown, v1.CheckFailed}, metav1.ConditionFalse, v1.ReasonCheckFailed},
		"one has no result": {[]v1.CheckResult{v1.CheckUnknown, v1.CheckPassed}, metav1.ConditionUnknown, v1.ReasonCheckUnknown},
	} {
		var checks []v1.EchoCheckStatus
		for _, result := range c.results {
			checks = append(checks, v1.EchoCheckStatus{Name: string(result), Result: result, Message: "why."})
		}
		got := pathsHealthy(checkedEcho(v1.EchoCheckStatus{}), checks, checkTime)
		if got.Status != c.want || got.Reason != c.reason.String() || got.Message == "" || got.ObservedGeneration != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestEvaluate_changesNoOtherCondition checks that failed checks and removed checks do not affect other conditions.
func TestEvaluate_changesNoOtherCondition(t *testing.T) {
	g := NewWithT(t)
	echo := checkedEcho(v1.EchoCheckStatus{}, func(e *v1.Echo) {
		e.Status.Phase, e.Status.Message = v1.PhaseReady, "ready"
		e.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: "AllPodsReady"}}
	})
	_, report := evaluateCheck(echo, CheckRuns{Pods: []*objects.Pod{found(verdict.Verdict{Problem: "x"})}})
	if report.Status.Phase != v1.PhaseReady || len(report.Status.Conditions) != 2 ||
		!meta.IsStatusConditionTrue(report.Status.Conditions, v1.ConditionReady) {
		t.Errorf("got %+v", report.Status)
	}
	g.Expect(echo.Status.Conditions).To(HaveLen(1), "the Echo in the cache was changed")
	g.Expect(echo.Status.Checks[0].Result).To(BeEmpty(), "the Echo in the cache was changed")
	echo.Status, echo.Spec.Checks = report.Status, nil
	if left := EvaluateChecks(echo, ChecksObservation{}, checkTime); len(left.Status.Checks) != 1 || left.Next != LookPeriod {
		t.Error("the status no longer names a check that may still have a CronJob")
	}
	gone := EvaluateChecks(echo, ChecksObservation{Gone: map[string]bool{"path": true}}, checkTime)
	if len(gone.Status.Checks) > 0 || meta.FindStatusCondition(gone.Status.Conditions, v1.ConditionPathsHealthy) != nil ||
		len(gone.Status.Conditions) != 1 {
		t.Errorf("without checks: %+v", gone.Status)
	}
}

func TestAllChecksNamed_andFormerChecks(t *testing.T) {
	named := func(names ...string) *v1.Echo {
		echo := checkedEcho(v1.EchoCheckStatus{})
		echo.Status.Checks = nil
		for _, name := range names {
			echo.Status.Checks = append(echo.Status.Checks, v1.EchoCheckStatus{Name: name})
		}
		return echo
	}
	for _, c := range []struct {
		echo   *v1.Echo
		all    bool
		former []string
	}{
		{named(), false, nil},
		{named("path"), true, nil},
		{named("other"), false, []string{"other"}},
		{named("a", "path", "b"), true, []string{"a", "b"}},
	} {
		if all, former := AllChecksNamed(c.echo), FormerChecks(c.echo); all != c.all || !slices.Equal(former, c.former) {
			t.Errorf("%v: all are named: %t, former ones are %v", c.echo.Status.Checks, all, former)
		}
	}
}

func TestCheckTransitions(t *testing.T) {
	status := func(result v1.CheckResult, message string) v1.EchoCheckStatus {
		return v1.EchoCheckStatus{Name: "path", Result: result, Message: message}
	}
	for name, c := range map[string]struct {
		before, after v1.EchoCheckStatus
		want          v1.Reason // nil if no event is expected
	}{
		"it passed at first":           {status("", ""), status(v1.CheckPassed, ""), v1.EventCheckPassed},
		"it passes on":                 {status(v1.CheckPassed, ""), status(v1.CheckPassed, ""), nil},
		"it fails":                     {status(v1.CheckPassed, ""), status(v1.CheckFailed, "a"), v1.ReasonCheckFailed},
		"it fails on":                  {status(v1.CheckFailed, "a"), status(v1.CheckFailed, "a"), nil},
		"it fails in another way":      {status(v1.CheckFailed, "a"), status(v1.CheckFailed, "b"), v1.ReasonCheckFailed},
		"it passes again":              {status(v1.CheckFailed, "a"), status(v1.CheckPassed, ""), v1.EventCheckPassed},
		"it has not run yet":           {status("", ""), status(v1.CheckUnknown, notRunYet), nil},
		"it need not run":              {status(v1.CheckPassed, ""), status(v1.CheckUnknown, scaledDown), nil},
		"it has no URL":                {status(v1.CheckPassed, ""), status(v1.CheckUnknown, withoutURL), nil},
		"no result":                    {status(v1.CheckPassed, ""), status(v1.CheckUnknown, "a"), v1.ReasonCheckUnknown},
		"still no result":              {status(v1.CheckUnknown, "a"), status(v1.CheckUnknown, "a"), nil},
		"no result for another reason": {status(v1.CheckUnknown, "a"), status(v1.CheckUnknown, "b"), v1.ReasonCheckUnknown},
	} {
		echo := &v1.Echo{Status: v1.EchoStatus{Checks: []v1.EchoCheckStatus{c.before}}}
		got := checkTransitions(echo, []v1.EchoCheckStatus{c.after})
		if (len(got) == 1) != (c.want != nil) || len(got) == 1 && (got[0].Reason != c.want || !strings.HasPrefix(got[0].Note, "Check path")) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTransitions_distinctRelatedObjects(t *testing.T) {
	echo := support.Echo("ns", "web")
	got := checkTransitions(echo, []v1.EchoCheckStatus{{Name: "one", Result: v1.CheckFailed}, {Name: "two", Result: v1.CheckFailed}})
	want := func(name string) *corev1.ObjectReference {
		return &corev1.ObjectReference{APIVersion: "batch/v1", Kind: "CronJob", Namespace: "ns", Name: name}
	}
	NewWithT(t).Expect(got).To(HaveExactElements(HaveField("Related", want("web-one-9380e030")), HaveField("Related", want("web-two-d8e0d012"))))
}

// TestEvaluate_keepsStatusOfOtherChecks checks that adding a check to the status leaves the other checks unchanged.
func TestEvaluate_keepsStatusOfOtherChecks(t *testing.T) {
	was := v1.EchoCheckStatus{Result: v1.CheckUnknown, Message: "The last run gave no result: it ended."}
	echo := checkedEcho(was, func(e *v1.Echo) { e.Spec.Checks = append(e.Spec.Checks, v1.EchoCheck{Name: "new"}) })
	report := EvaluateChecks(echo, ChecksObservation{}, checkTime)
	if all := report.Status.Checks; len(all) != 2 || all[0].Message != was.Message || all[1].Name != "new" || len(report.Transitions) > 0 {
		t.Errorf("got %+v, %v", all, report.Transitions)
	}
}

// shifted returns a pod that finished after a run was due. The clock of the pod's node is ahead or behind.
func shifted(ahead time.Duration) *objects.Pod {
	pod := ended(-150, 0, `{"facts":1}`)
	end := pod.Containers[0].State.Terminated
	end.FinishedAt = metav1.NewTime(end.FinishedAt.Add(ahead))
	return pod
}

func TestCheckRuns_ofOneSecond(t *testing.T) {
	first, second := found(verdict.Verdict{Problem: "no response"}), ended(1, 0, `{"facts":1}`)
	second.CreationTimestamp = first.CreationTimestamp
	for _, pods := range [][]*objects.Pod{{first, second}, {second, first}} {
		if got, _ := evaluateCheck(checkedEcho(v1.EchoCheckStatus{}), CheckRuns{Pods: pods}); got.Result != v1.CheckPassed {
			t.Errorf("got %+v", got)
		}
	}
}

// TestCheckRuns_ofLostContainer covers a node that restarted during a run.
func TestCheckRuns_ofLostContainer(t *testing.T) {
	was := v1.EchoCheckStatus{Name: "path", Result: v1.CheckPassed, LastConclusiveTime: new(metav1.NewTime(checkTime.Add(-time.Hour)))}
	lost := ended(0, 137, "")
	lost.Containers[0].State.Terminated.FinishedAt = metav1.Time{}
	if got, _ := evaluateCheck(checkedEcho(was), CheckRuns{Pods: []*objects.Pod{lost}}); got.Result != v1.CheckUnknown {
		t.Errorf("got %+v", got)
	}
}

func TestCheckRuns_ofNodeWhoseClockIsAhead(t *testing.T) {
	g := NewWithT(t)
	early := shifted(6 * time.Hour)
	first, _ := evaluateCheck(checkedEcho(v1.EchoCheckStatus{}), CheckRuns{Pods: []*objects.Pod{early}})
	g.Expect(first.Result).To(Equal(v1.CheckPassed))
	g.Expect(first.LastConclusiveTime.After(checkTime)).To(BeFalse())
	again, _ := evaluateCheck(checkedEcho(first), CheckRuns{Pods: []*objects.Pod{early}})
	later := found(verdict.Verdict{Problem: "no response from a:80"})
	failed, _ := evaluateCheck(checkedEcho(first), CheckRuns{Pods: []*objects.Pod{early, later}})
	g.Expect(again.LastConclusiveTime.Equal(first.LastConclusiveTime)).To(BeTrue())
	g.Expect(failed.Result).To(Equal(v1.CheckFailed))
}

// TestEvaluate_sidecars checks that a run's verdict does not wait for a sidecar that keeps running. The verdict must remain after the pod
// has exceeded its deadline.
func TestEvaluate_sidecars(t *testing.T) {
	pod := found(verdict.Verdict{Facts: 1})
	sidecar := objects.Container{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	pod.Phase, pod.Containers = corev1.PodRunning, append([]objects.Container{sidecar}, pod.Containers...)
	seen := CheckRuns{Pods: []*objects.Pod{pod}, Scheduled: pod.CreationTimestamp.Time}
	running, _ := evaluateCheck(checkedEcho(v1.EchoCheckStatus{}), seen)
	NewWithT(t).Expect(running.Result).To(Equal(v1.CheckPassed))

	seen.Pods[0].Phase, seen.Pods[0].Reason = corev1.PodFailed, "DeadlineExceeded"
	seen.Pods[0].Containers[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}}
	failed, report := evaluateCheck(checkedEcho(running), seen)
	NewWithT(t).Expect(failed).To(Equal(running))
	NewWithT(t).Expect(report.Transitions).To(BeEmpty())
}

func TestCheckRuns_LacksPod(t *testing.T) {
	ago := func(d time.Duration) time.Time { return checkTime.Add(-d) }
	fresh := []*objects.Pod{ended(-3590, 0, `{"facts":1}`)}
	for name, c := range map[string]struct {
		seen   CheckRuns
		change func(*v1.Echo)
		want   bool
	}{
		"no run yet":        {CheckRuns{Applied: ago(time.Hour)}, nil, false},
		"a run of now":      {CheckRuns{Scheduled: ago(30 * time.Second)}, nil, false},
		"a run without pod": {CheckRuns{Scheduled: ago(200 * time.Second)}, nil, true},
		"a run with a pod":  {CheckRuns{Scheduled: ago(time.Hour), Pods: fresh}, nil, false},
		"no replicas":       {CheckRuns{Scheduled: ago(time.Hour)}, func(e *v1.Echo) { e.Spec.Replicas = new(int32(0)) }, false},
		"no URL":            {CheckRuns{Scheduled: ago(time.Hour)}, func(e *v1.Echo) { e.Status.ExternalURL = "" }, false},
	} {
		echo := checkedEcho(v1.EchoCheckStatus{})
		if c.change != nil {
			c.change(echo)
		}
		NewWithT(t).Expect(c.seen.LacksPod(echo, &echo.Spec.Checks[0], checkTime)).To(Equal(c.want), name)
	}
}

// TestEvaluate_blocked checks that a rejected run changes the result of a check to Unknown, and that the operator waits for the next run.
func TestEvaluate_blocked(t *testing.T) {
	g := NewWithT(t)
	passed := v1.EchoCheckStatus{Result: v1.CheckPassed, LastConclusiveTime: new(metav1.NewTime(checkTime.Add(-time.Hour)))}
	seen := CheckRuns{Applied: checkTime.Add(-time.Hour), Blocked: message.Problem{Text: "a", Quote: "b", Advice: "C."}}
	blocked, report := evaluateCheck(checkedEcho(passed), seen)
	g.Expect(blocked.Message).To(Equal(`The last run gave no result: A: "b". C.`))
	g.Expect(blocked.Result).To(Equal(v1.CheckUnknown))
	g.Expect(report.Next).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Hour+patience)))
	again, report := evaluateCheck(checkedEcho(passed), CheckRuns{Applied: seen.Applied})
	g.Expect(again.Result).To(Equal(v1.CheckPassed))
	g.Expect(report.Next).To(BeNumerically(">", 0))
}

// TestEvaluate_overdue checks when three scheduled runs of an hourly check are over without a conclusion. Its deadline is a minute.
func TestEvaluate_overdue(t *testing.T) {
	const third = 3*time.Hour + time.Minute + patience
	hour := checkTime.Truncate(time.Hour) // the last time at which the check should have run
	refused := CheckRuns{Refused: message.Problem{Text: "no"}}
	for name, c := range map[string]struct {
		seen   CheckRuns
		last   time.Time
		change func(*v1.Echo)
		want   time.Time
	}{
		"never run":              {CheckRuns{Applied: hour}, time.Time{}, nil, hour.Add(third)},
		"a conclusion":           {CheckRuns{Applied: hour.Add(-9 * time.Hour)}, hour.Add(time.Minute), nil, hour.Add(third)},
		"changed since then":     {CheckRuns{Applied: hour}, hour.Add(-9 * time.Hour), nil, hour.Add(third)},
		"no conclusion":          {CheckRuns{Applied: hour.Add(-9 * time.Hour)}, hour.Add(-4 * time.Hour), nil, hour.Add(third - 4*time.Hour)},
		"no CronJob yet":         {CheckRuns{}, time.Time{}, nil, time.Time{}},
		"it cannot run":          {refused, hour, nil, checkTime.Add(10 * time.Second)},
		"an invalid schedule":    {refused, hour, func(e *v1.Echo) { e.Spec.Checks[0].Schedule = "TZ=UTC" }, checkTime.Add(10 * time.Second)},
		"not refused yet":        {CheckRuns{Applied: hour}, hour, func(e *v1.Echo) { e.Spec.Checks[0].Schedule = "TZ=UTC" }, time.Time{}},
		"a day that never comes": {CheckRuns{Applied: hour}, hour, func(e *v1.Echo) { e.Spec.Checks[0].Schedule = "0 0 30 2 *" }, time.Time{}},
		"paused":                 {refused, hour, func(e *v1.Echo) { e.Spec.Paused = true }, time.Time{}},
		"no replicas":            {refused, hour, func(e *v1.Echo) { e.Spec.Replicas = new(int32(0)) }, time.Time{}},
		"no URL":                 {refused, hour, func(e *v1.Echo) { e.Status.ExternalURL = "" }, time.Time{}},
		"no URL, but its own": {refused, hour, func(e *v1.Echo) { e.Status.ExternalURL, e.Spec.Checks[0].URL = "", "http://a" },
			checkTime.Add(10 * time.Second)},
		"a run without a verdict": {CheckRuns{Applied: hour, Pods: []*objects.Pod{ended(0, 1, "")}}, time.Time{}, nil, hour.Add(third)},
	} {
		was := v1.EchoCheckStatus{Result: v1.CheckUnknown}
		if !c.last.IsZero() {
			was.LastConclusiveTime = new(metav1.NewTime(c.last))
		}
		echo := checkedEcho(was)
		if c.change != nil {
			c.change(echo)
		}
		if _, report := evaluateCheck(echo, c.seen); !report.Overdue["path"].Equal(c.want) {
			t.Errorf("%s: overdue at %s, want %s", name, report.Overdue["path"], c.want)
		}
	}
}
