package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

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

func TestCheckRuns_ofNodeWhoseClockIsAhead(t *testing.T) {
	g := NewWithT(t)
	early := shifted(6 * time.Hour)
	first, _ := evaluateCheck(checkedEcho(v1.EchoCheckStatus{}), CheckRuns{Pods: []*objects.Pod{early}})
	g.Expect(first.Result).To(Equal(v1.CheckPassed))
	g.Expect(first.LastRunTime.After(checkTime)).To(BeFalse())
	again, _ := evaluateCheck(checkedEcho(first), CheckRuns{Pods: []*objects.Pod{early}})
	later := found(verdict.Verdict{Problem: "no response from a:80"})
	failed, _ := evaluateCheck(checkedEcho(first), CheckRuns{Pods: []*objects.Pod{early, later}})
	g.Expect(again.LastRunTime.Equal(first.LastRunTime)).To(BeTrue())
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
		"no run yet":        {CheckRuns{Since: ago(time.Hour)}, nil, false},
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
	passed := v1.EchoCheckStatus{Result: v1.CheckPassed, LastRunTime: new(metav1.NewTime(checkTime.Add(-time.Hour)))}
	seen := CheckRuns{Since: checkTime.Add(-time.Hour), Blocked: message.Problem{Text: "a", Quote: "b", Advice: "C."}}
	blocked, report := evaluateCheck(checkedEcho(passed), seen)
	g.Expect(blocked.Message).To(Equal(`The last run gave no result: A: "b". C.`))
	g.Expect(blocked.Result).To(Equal(v1.CheckUnknown))
	g.Expect(report.Next).To(And(BeNumerically(">", 0), BeNumerically("<=", time.Hour+patience)))
	again, report := evaluateCheck(checkedEcho(passed), CheckRuns{Since: seen.Since})
	g.Expect(again.Result).To(Equal(v1.CheckPassed))
	g.Expect(report.Next).To(BeNumerically(">", 0))
}
