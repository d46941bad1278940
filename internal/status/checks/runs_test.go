package checks

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/pathverdict"
)

// shifted returns a pod that ended after a run was due, on a node whose clock is ahead, or behind.
func shifted(ahead time.Duration) corev1.Pod {
	pod := ended(-150, 0, `{"facts":1}`)
	end := pod.Status.ContainerStatuses[0].State.Terminated
	end.FinishedAt = metav1.NewTime(end.FinishedAt.Add(ahead))
	return pod
}

func TestRuns_ofOneSecond(t *testing.T) {
	first, second := found(pathverdict.Verdict{Problem: "no response"}), ended(1, 0, `{"facts":1}`)
	second.CreationTimestamp = first.CreationTimestamp
	for _, pods := range [][]corev1.Pod{{first, second}, {second, first}} {
		if got, _ := evaluateCheck(checkedEcho(v1.EchoCheckStatus{}), Runs{Pods: pods}); got.Result != v1.CheckPassed {
			t.Errorf("got %+v", got)
		}
	}
}

func TestRuns_ofNodeWhoseClockIsAhead(t *testing.T) {
	g := NewWithT(t)
	early := shifted(6 * time.Hour)
	first, _ := evaluateCheck(checkedEcho(v1.EchoCheckStatus{}), Runs{Pods: []corev1.Pod{early}})
	g.Expect(first.Result).To(Equal(v1.CheckPassed))
	g.Expect(first.LastRunTime.After(checkTime)).To(BeFalse())
	again, _ := evaluateCheck(checkedEcho(first), Runs{Pods: []corev1.Pod{early}})
	later := found(pathverdict.Verdict{Problem: "no response from a:80"})
	failed, _ := evaluateCheck(checkedEcho(first), Runs{Pods: []corev1.Pod{early, later}})
	g.Expect(again.LastRunTime.Equal(first.LastRunTime)).To(BeTrue())
	g.Expect(failed.Result).To(Equal(v1.CheckFailed))
}

// TestEvaluate_sidecars checks that the verdict of a run does not wait for a sidecar that does not end, and stays when the pod is ended at
// its deadline.
func TestEvaluate_sidecars(t *testing.T) {
	pod := found(pathverdict.Verdict{Facts: 1})
	sidecar := corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	pod.Status.Phase, pod.Status.ContainerStatuses = corev1.PodRunning, append([]corev1.ContainerStatus{sidecar}, pod.Status.ContainerStatuses...)
	seen := Runs{Pods: []corev1.Pod{pod}, Scheduled: pod.CreationTimestamp.Time}
	running, _ := evaluateCheck(checkedEcho(v1.EchoCheckStatus{}), seen)
	NewWithT(t).Expect(running.Result).To(Equal(v1.CheckPassed))

	seen.Pods[0].Status.Phase, seen.Pods[0].Status.Reason = corev1.PodFailed, "DeadlineExceeded"
	seen.Pods[0].Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137}}
	failed, report := evaluateCheck(checkedEcho(running), seen)
	NewWithT(t).Expect(failed).To(Equal(running))
	NewWithT(t).Expect(report.Transitions).To(BeEmpty())
}
