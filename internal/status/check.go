package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/children/desired"
)

const (
	// checkPatience is how much longer than its deadline a run of a check may take to give a verdict: its pod has to be created, scheduled and
	// started, and clocks differ.
	checkPatience = 90 * time.Second
	// clockSkew is how much the clocks of the API server and the controller of CronJobs may differ.
	clockSkew = 5 * time.Second

	// What is no news: the check has no result, and nothing is wrong.
	checkNotRunYet  = "The check has not run yet. It runs on its schedule."
	checkWithoutURL = "The Echo has no external URL yet. Expose it by ingress, gateway or a load balancer, or set the field url of the check."
	checkScaledDown = "The check does not run while spec.replicas is 0."
)

// CheckObservation is what is known of a check.
type CheckObservation struct {
	// Refused is why the check has no CronJob, empty if it has one or if the URL is not known.
	Refused string
	// Pods are those of all runs that still exist.
	Pods []corev1.Pod
	// Hash is the digest of the present configuration of the pods. Those of others do not count.
	Hash string
	// Scheduled is when the last run should have begun, zero if none was due.
	Scheduled time.Time
}

// ChecksObservation is what is known of the checks of an Echo.
type ChecksObservation struct {
	// Checks are those of the spec, by name. The status of others stays as it was.
	Checks map[string]CheckObservation
	// Gone are the former checks that have no CronJob any more, by name.
	Gone map[string]bool
}

// NamesAllChecks reports whether the status of an Echo names all its checks.
func NamesAllChecks(echo *v1.Echo) bool {
	return !slices.ContainsFunc(echo.Spec.Checks, func(check v1.EchoCheck) bool {
		return !slices.ContainsFunc(echo.Status.Checks, func(named v1.EchoCheckStatus) bool { return named.Name == check.Name })
	})
}

// FormerChecks returns the names of the checks that an Echo no longer has, and whose CronJobs may be left. Its status names them until those are
// gone.
func FormerChecks(echo *v1.Echo) []string {
	var former []string
	for _, named := range echo.Status.Checks {
		if !slices.ContainsFunc(echo.Spec.Checks, func(check v1.EchoCheck) bool { return check.Name == named.Name }) {
			former = append(former, named.Name)
		}
	}
	return former
}

// CheckReport is what a pass over the checks of an Echo has to say.
type CheckReport struct {
	Status v1.EchoStatus
	// Transitions are what changed since the status before, to be reported as events once Status is written.
	Transitions []Transition
	// Next is when to look again if no event arrives earlier, zero if nothing depends on time.
	Next time.Duration
}

// EvaluateChecks returns the report of a pass over the checks of an Echo.
func EvaluateChecks(echo *v1.Echo, seen ChecksObservation, now time.Time) CheckReport {
	report := CheckReport{Status: *echo.Status.DeepCopy()}
	report.Status.Checks = nil
	for i := range echo.Spec.Checks {
		check := &echo.Spec.Checks[i]
		was := findCheck(echo.Status.Checks, check.Name)
		observed, looked := seen.Checks[check.Name]
		if !looked && was.Result != "" {
			report.Status.Checks = append(report.Status.Checks, was)
			continue
		}
		status, next := checkStatus(echo, check, was, observed, now)
		report.Status.Checks, report.Next = append(report.Status.Checks, status), earliest(report.Next, next)
	}
	for _, former := range FormerChecks(echo) {
		if !seen.Gone[former] {
			report.Status.Checks, report.Next = append(report.Status.Checks, findCheck(echo.Status.Checks, former)), earliest(report.Next, lookPeriod)
		}
	}
	if condition := pathsHealthy(echo, report.Status.Checks, now); condition != nil {
		setCondition(&report.Status, *condition)
	} else {
		meta.RemoveStatusCondition(&report.Status.Conditions, v1.ConditionPathsHealthy)
	}
	report.Transitions = checkTransitions(echo.Status.Checks, report.Status.Checks)
	return report
}

// checkStatus returns the status of a check, given the one before, and when to look again if no event arrives earlier.
func checkStatus(echo *v1.Echo, check *v1.EchoCheck, was v1.EchoCheckStatus, seen CheckObservation, now time.Time) (v1.EchoCheckStatus, time.Duration) {
	status := *was.DeepCopy()
	status.Name = check.Name
	if pod, ended := lastRun(seen.Pods, seen.Hash); pod != nil && !ended.FinishedAt.Before(was.LastTime) {
		if ended.FinishedAt.After(now) { // the clock of its node is ahead
			ended.FinishedAt = pod.CreationTimestamp
		}
		judgeRun(&status, check, ended)
	} else if status.Result != v1.CheckPassed && status.Result != v1.CheckFailed {
		setUnknown(&status, checkNotRunYet)
	}
	why, next := seen.whyUnknown(echo, check, &status, now)
	if why != "" {
		setUnknown(&status, why)
	}
	return status, next
}

// setUnknown sets the result of a check that has none, and why.
func setUnknown(status *v1.EchoCheckStatus, why string) {
	status.Result, status.Message = v1.CheckUnknown, truncate(why, maxStatusMessage)
}

// whyUnknown returns why a check has no result, whatever it was before; empty if it has one. It also returns when that may change by time alone.
func (o CheckObservation) whyUnknown(echo *v1.Echo, check *v1.EchoCheck, status *v1.EchoCheckStatus, now time.Time) (string, time.Duration) {
	switch {
	case o.Refused != "":
		return "The check cannot run: " + sentence(o.Refused), 0
	case desired.CheckURL(echo, check) == "":
		return checkWithoutURL, 0
	case echo.Spec.Replicas == 0:
		return checkScaledDown, 0
	}
	if o.Scheduled.IsZero() || o.hasRunSince(status) {
		return "", 0
	}
	if left := o.Scheduled.Add(desired.CheckDeadline(check) + checkPatience).Sub(now); left > 0 {
		return "", left
	}
	return "The last run gave no result: " + o.whyNoVerdict(), 0
}

// hasRunSince reports whether the run that was last due has ended, with whatever configuration. A pod is as old as the API server says: the clock
// of its node may differ much from that of the controller of CronJobs.
func (o CheckObservation) hasRunSince(status *v1.EchoCheckStatus) bool {
	last := time.Time{}
	if status.LastTime != nil {
		last = status.LastTime.Time
	}
	if pod, _ := lastRun(o.Pods, ""); pod != nil && pod.CreationTimestamp.After(last) {
		last = pod.CreationTimestamp.Time
	}
	return last.Add(clockSkew).After(o.Scheduled)
}

// whyNoVerdict returns what the newest pod of the run that was last due shows.
func (o CheckObservation) whyNoVerdict() string {
	pods := slices.DeleteFunc(slices.Clone(o.Pods), func(pod corev1.Pod) bool {
		return pod.CreationTimestamp.Add(clockSkew).Before(o.Scheduled) || pod.Status.Phase == corev1.PodSucceeded
	})
	if len(pods) == 0 {
		return "its Job has created no pod, for example because of a quota. Check the events of the Job."
	}
	newest := slices.MaxFunc(pods, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	if c := podCause(&newest); c != (cause{}) {
		return strings.ReplaceAll(c.message, newest.Name, "of the check") // the name differs from run to run
	}
	return "its pod has not ended in time. Check its log and its events."
}

// lastRun returns the newest pod of a check that ended, and a copy of how its container ended. Only pods with a digest count, unless it is empty.
func lastRun(pods []corev1.Pod, hash string) (last *corev1.Pod, ended *corev1.ContainerStateTerminated) {
	for i := range pods {
		if hash != "" && pods[i].Annotations[v1.AppliedHashAnnotation] != hash {
			continue
		}
		for _, container := range pods[i].Status.ContainerStatuses {
			end := container.State.Terminated
			if end != nil && container.Name == desired.CheckContainer && (last == nil || isLater(&pods[i], end, last, ended)) {
				last, ended = &pods[i], end.DeepCopy()
			}
		}
	}
	return last, ended
}

// isLater reports whether a run began later than another, or ended later if both began in the same second.
func isLater(pod *corev1.Pod, end *corev1.ContainerStateTerminated, last *corev1.Pod, ended *corev1.ContainerStateTerminated) bool {
	order := pod.CreationTimestamp.Compare(last.CreationTimestamp.Time)
	return order > 0 || order == 0 && ended.FinishedAt.Before(&end.FinishedAt)
}

// pathsHealthy returns the condition of the checks of an Echo, and nil if there are none.
func pathsHealthy(echo *v1.Echo, checks []v1.EchoCheckStatus, now time.Time) *metav1.Condition {
	if len(checks) == 0 {
		return nil
	}
	c := &metav1.Condition{
		Type: v1.ConditionPathsHealthy, Status: metav1.ConditionTrue, Reason: v1.ReasonChecksPassed.String(), Message: "All checks have passed.",
		ObservedGeneration: echo.Generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
	}
	for _, each := range []struct {
		result v1.CheckResult
		status metav1.ConditionStatus
		reason v1.Reason
	}{{v1.CheckFailed, metav1.ConditionFalse, v1.ReasonCheckFailed}, {v1.CheckUnknown, metav1.ConditionUnknown, v1.ReasonCheckUnknown}} {
		var messages []string
		for _, check := range checks {
			if check.Result == each.result {
				messages = append(messages, check.Name+": "+check.Message)
			}
		}
		if len(messages) > 0 {
			c.Status, c.Reason, c.Message = each.status, each.reason.String(), truncate(strings.Join(messages, " "), maxMessage)
			return c
		}
	}
	return c
}

// checkTransitions returns what changed between two statuses of the checks of an Echo.
func checkTransitions(before, after []v1.EchoCheckStatus) []Transition {
	var news []Transition
	for _, now := range after {
		was := findCheck(before, now.Name)
		switch same := was.Result == now.Result; {
		case now.Result == v1.CheckPassed && !same:
			news = append(news, Transition{v1.EventCheckPassed, actionCheck, fmt.Sprintf("Check %s passed.", now.Name)})
		case now.Result == v1.CheckFailed && (!same || was.Message != now.Message):
			news = append(news, Transition{v1.EventCheckFailed, actionCheck, fmt.Sprintf("Check %s: %s", now.Name, now.Message)})
		case isWrong(now) && (!same || was.Message != now.Message):
			news = append(news, Transition{v1.EventCheckUnknown, actionCheck, fmt.Sprintf("Check %s: %s", now.Name, now.Message)})
		}
	}
	return news
}

// isWrong reports whether a check has no result although it should have one.
func isWrong(check v1.EchoCheckStatus) bool {
	return check.Result == v1.CheckUnknown && !slices.Contains([]string{checkNotRunYet, checkWithoutURL, checkScaledDown}, check.Message)
}

// findCheck returns the status of a check, empty if there is none.
func findCheck(checks []v1.EchoCheckStatus, name string) v1.EchoCheckStatus {
	for _, check := range checks {
		if check.Name == name {
			return check
		}
	}
	return v1.EchoCheckStatus{Name: name}
}
