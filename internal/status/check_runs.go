package status

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
)

const (
	// patience is how long after a check run's deadline the run may still give a verdict. It allows for the creation, scheduling, and start
	// of the run's pod, and for clock differences.
	patience = 90 * time.Second
	// clockSkew is how much the clocks of the API server and the CronJob controller may differ.
	clockSkew = 5 * time.Second
	// noResult is the beginning of the message for a check that should have a result but has none.
	noResult = "The last run gave no result: "
)

// CheckRuns holds what the operator knows about the runs of a check.
type CheckRuns struct {
	// Refused is the reason why the check's CronJob cannot be created or updated. It is zero if there is no such reason.
	Refused message.Problem
	// Waits is true if the policy may allow the check's URL as soon as the Echo has an external URL.
	Waits bool
	// Pods are the pods of all runs that still exist.
	Pods []*objects.Pod
	// Hash is the digest of the pods' current configuration. Pods with another digest are ignored.
	Hash string
	// Scheduled is the time of the most recent scheduled run, or the zero time if none was due.
	Scheduled time.Time
	// Applied is the time when the operator last changed the CronJob. Applied is zero if there is no CronJob.
	Applied time.Time
	// LacksProxy is true if the check connects directly because the URL of the forward proxy contains a password.
	LacksProxy bool
	// Blocked is the reason why the API server would reject the missing pod of a run. It is zero if no such reason is known.
	Blocked message.Problem
}

// LacksPod reports whether the last run lacks a pod that Kubernetes should have created. Only events show a rejection by the API server.
func (r CheckRuns) LacksPod(echo *v1.Echo, check *v1.EchoCheck, now time.Time) bool {
	if r.Scheduled.IsZero() || objects.CheckURL(echo, check) == "" || echo.Spec.DesiredReplicas() == 0 {
		return false
	}
	was := findCheck(echo.Status.Checks, check.Name)
	late := !r.Scheduled.Add(objects.CheckDeadline(check) + patience).After(now)
	return late && !r.hasRunSince(&was) && len(r.podsOfLast()) == 0
}

// next returns the time of a check's next run after another time, or the zero time if there is none. Kubernetes rejects schedules that
// contain TZ, with which cron can panic.
func (r CheckRuns) next(check *v1.EchoCheck, after time.Time) (due time.Time) {
	if !r.Applied.IsZero() && !strings.Contains(check.Schedule, "TZ") {
		if schedule, err := cron.ParseStandard(check.Schedule); err == nil {
			due = schedule.Next(after)
		}
	}
	return due
}

// untilLate returns the time until the next run's Job should exist, or zero if no run is due. It computes the run in the operator's time
// zone. The CronJob controller uses the same library, in its own time zone.
func (r CheckRuns) untilLate(check *v1.EchoCheck, now time.Time) time.Duration {
	due := r.next(check, now.Add(-patience))
	if due.IsZero() {
		return 0
	}
	return due.Add(patience).Sub(now)
}

// overdue returns the time at which the third scheduled run without a conclusion is over, or the zero time if no run is due. A check that
// cannot run is overdue at once. The time depends only on objects in the cluster, so that it survives a restart of the operator. It begins
// again after a change to the CronJob, such as the end of its suspension.
func (r CheckRuns) overdue(echo *v1.Echo, check *v1.EchoCheck, last *metav1.Time, now time.Time) time.Time {
	switch {
	case echo.Spec.Paused, echo.Spec.DesiredReplicas() == 0, r.Waits, objects.CheckURL(echo, check) == "":
		return time.Time{}
	case r.Refused != (message.Problem{}):
		return now
	}
	due := slices.MaxFunc([]time.Time{r.Applied, cmp.Or(last, &metav1.Time{}).Time}, time.Time.Compare)
	for range 3 {
		if due = r.next(check, due); due.IsZero() {
			return due
		}
	}
	return due.Add(objects.CheckDeadline(check) + patience)
}

// whyUnknown returns the reason why a check has no result, regardless of its previous result. The reason is empty if the check has a
// result. The second value is the time after which the reason may change without an event.
func (r CheckRuns) whyUnknown(echo *v1.Echo, check *v1.EchoCheck, was *v1.EchoCheckStatus, now time.Time) (string, time.Duration) {
	switch {
	case r.Refused != (message.Problem{}):
		return message.Short(message.MaxCheck, message.Problem{Text: "the check cannot run. " + message.Capital(r.Refused.Text),
			Quote: r.Refused.Quote, Advice: r.Refused.Advice}), 0
	case r.Waits || objects.CheckURL(echo, check) == "":
		return withoutURL, 0
	case echo.Spec.DesiredReplicas() == 0:
		return scaledDown, 0
	case r.Blocked != (message.Problem{}):
		return noResult + r.Blocked.String(), r.untilLate(check, now)
	case r.Scheduled.IsZero() || r.hasRunSince(was):
		return "", r.untilLate(check, now)
	}
	if left := r.Scheduled.Add(objects.CheckDeadline(check) + patience).Sub(now); left > 0 {
		return "", left
	}
	return noResult + r.whyNoVerdict(), r.untilLate(check, now)
}

// hasRunSince reports whether the most recent scheduled run has finished, regardless of its configuration. The comparison uses the pod's
// creation time from the API server, because the clocks of the node and the CronJob controller may differ.
func (r CheckRuns) hasRunSince(was *v1.EchoCheckStatus) bool {
	last := cmp.Or(was.LastConclusiveTime, &metav1.Time{}).Time
	if pod, _ := lastRun(r.Pods, ""); pod != nil && pod.CreationTimestamp.After(last) {
		last = pod.CreationTimestamp.Time
	}
	return last.Add(clockSkew).After(r.Scheduled)
}

// whyNoVerdict returns the reason why the most recent scheduled run has no verdict: the run has no pod, or its newest pod shows the reason.
// Otherwise, the result is a generic message.
func (r CheckRuns) whyNoVerdict() string {
	pods := r.podsOfLast()
	if len(pods) == 0 {
		return "its Job has created no pod. Check the events of the Job."
	}
	newest := slices.MaxFunc(pods, func(a, b *objects.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	if problem := podCause(newest).problem; problem != (message.Problem{}) {
		// The pod's name differs from run to run.
		return strings.NewReplacer(newest.Name+" -c", "POD -c", "of pod "+newest.Name, "of the pod", newest.Name, "of the check").
			Replace(problem.String())
	}
	return "its pod did not finish in time. Check the pod's log and events."
}

// podsOfLast returns the pods of the most recent scheduled run, except for pods that succeeded.
func (r CheckRuns) podsOfLast() []*objects.Pod {
	return slices.DeleteFunc(slices.Clone(r.Pods), func(pod *objects.Pod) bool {
		return pod.CreationTimestamp.Add(clockSkew).Before(r.Scheduled) || pod.Phase == corev1.PodSucceeded
	})
}

// lastRun returns the newest of a check's pods whose check container has terminated, and a copy of that container's terminated state. Of
// pods that were created in the same second, it is the one that finished last. If a digest is given, only pods with that digest count.
func lastRun(pods []*objects.Pod, hash string) (last *objects.Pod, ended *corev1.ContainerStateTerminated) {
	for _, pod := range pods {
		if hash != "" && pod.AppliedHash != hash {
			continue
		}
		for _, container := range pod.Containers {
			end := container.State.Terminated
			if end == nil || container.Name != objects.CheckContainer {
				continue
			}
			if end = end.DeepCopy(); end.FinishedAt.IsZero() { // the kubelet lost the container
				end.FinishedAt = pod.CreationTimestamp
			}
			if last == nil || cmp.Or(pod.CreationTimestamp.Compare(last.CreationTimestamp.Time),
				end.FinishedAt.Compare(ended.FinishedAt.Time)) > 0 {
				last, ended = pod, end
			}
		}
	}
	return last, ended
}
