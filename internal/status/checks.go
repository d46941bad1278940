package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// These are the messages for a check that has no result although nothing is wrong. No event reports these messages.
const (
	notRunYet  = "The check has not run yet. Wait for its next scheduled run."
	withoutURL = "The Echo has no external URL yet. Enable spec.ingress, spec.gateway, or a load balancer, or set the check's URL to status.url."
	scaledDown = "The check does not run while spec.replicas is 0."
)

// ChecksObservation holds what the operator knows about an Echo's checks.
type ChecksObservation struct {
	// Checks holds the observed checks, by name. The status of a check that was not observed does not change.
	Checks map[string]CheckRuns
	// Gone holds the names of the former checks that no longer have a CronJob.
	Gone map[string]bool
}

// EvaluateChecks returns the report on a reconcile of an Echo's checks.
func EvaluateChecks(echo *v1.Echo, seen ChecksObservation, now time.Time) Report {
	report := Report{Status: *echo.Status.DeepCopy(), Overdue: map[string]time.Time{}}
	report.Status.Checks = nil
	for i := range echo.Spec.Checks {
		check := &echo.Spec.Checks[i]
		was := findCheck(echo.Status.Checks, check.Name)
		observed, looked := seen.Checks[check.Name]
		if !looked && was.Result != "" {
			report.Status.Checks = append(report.Status.Checks, was)
			continue
		}
		current, next := checkStatus(echo, check, was, observed, now)
		report.Status.Checks, report.Next = append(report.Status.Checks, current), Earliest(report.Next, next)
		report.Overdue[check.Name] = observed.overdue(echo, check, current.LastConclusiveTime, now)
	}
	for _, former := range FormerChecks(echo) {
		if !seen.Gone[former] {
			report.Status.Checks = append(report.Status.Checks, findCheck(echo.Status.Checks, former))
			report.Next = Earliest(report.Next, LookPeriod)
		}
	}
	if len(report.Status.Checks) == 0 {
		meta.RemoveStatusCondition(&report.Status.Conditions, v1.ConditionPathsHealthy)
	} else {
		setCondition(&report.Status, pathsHealthy(echo, report.Status.Checks, now))
	}
	report.Transitions = checkTransitions(echo, report.Status.Checks)
	return report
}

// checkStatus returns a check's status, given its previous status, and the time until the next reconcile if no event arrives.
func checkStatus(echo *v1.Echo, check *v1.EchoCheck, was v1.EchoCheckStatus, seen CheckRuns, now time.Time) (v1.EchoCheckStatus, time.Duration) {
	current := *was.DeepCopy()
	current.Name = check.Name
	if pod, ended := lastRun(seen.Pods, seen.Hash); pod != nil && !ended.FinishedAt.Before(was.LastConclusiveTime) {
		if ended.FinishedAt.After(now) { // the clock of the pod's node is ahead
			ended.FinishedAt = pod.CreationTimestamp
		}
		judgeRun(&current, ended, seen.LacksProxy)
	} else if current.Result != v1.CheckPassed && current.Result != v1.CheckFailed {
		setUnknown(&current, notRunYet)
	}
	why, next := seen.whyUnknown(echo, check, &current, now)
	if why != "" {
		setUnknown(&current, why)
	}
	return current, next
}

// judgeRun writes the findings of a run to the status of the check.
func judgeRun(current *v1.EchoCheckStatus, ended *corev1.ContainerStateTerminated, lacksProxy bool) {
	if ended.ExitCode != 0 {
		setUnknown(current, fmt.Sprintf("The last run gave no result: it exited with code %d (%s). Check the log of its pod.",
			ended.ExitCode, cmp.Or(ended.Reason, "no reason is given")))
		return
	}
	v, err := verdict.Decode(ended.Message)
	if err != nil {
		setUnknown(current, fmt.Sprintf("The last run gave no valid result: %s.", err))
		return
	}
	var failed []string
	for _, each := range v.Failed {
		failed = append(failed, fmt.Sprintf("%s is %s, expected %s.", each.Name, each.Got, each.Want))
	}
	var unknown []string
	for _, each := range v.Unknown {
		unknown = append(unknown, fmt.Sprintf("%s is unknown: %s.", each.Name, each.Reason))
	}
	if v.Unfinished == verdict.DeadlinePassed {
		unknown = append(unknown, "Raise deadlineSeconds, or examine fewer groups.")
	}
	if v.Problem != "" {
		problem := message.Problem{Text: "no Echo responds", Quote: v.Problem}
		if v.Silent == verdict.SilentURL {
			problem.Advice = fmt.Sprintf("Either the path is down, or a NetworkPolicy drops egress to %s.", v.Address)
		}
		failed = []string{problem.String()}
	}
	switch {
	// A run that got no response at all reveals nothing about the path. If anything responded, the path itself may be down.
	case v.Silent == verdict.SilentResolver:
		setUnknown(current, "The DNS resolver of the cluster does not respond. "+
			"Allow egress to its port 53 in the NetworkPolicies of the namespace.")
	case v.Silent == verdict.SilentAll:
		setUnknown(current, fmt.Sprintf("Requests do not seem to leave the pod: neither %s nor the Service responds. "+
			"Allow egress to both in the NetworkPolicies of the namespace.", v.Address))
	case len(failed) > 0:
		current.Result, current.Message = v1.CheckFailed, message.Truncate(strings.Join(failed, " "), message.MaxCheck)
		current.LastConclusiveTime = ended.FinishedAt.DeepCopy()
	case len(v.Unknown) > 0:
		setUnknown(current, strings.Join(unknown, " "))
	case v.Facts < 1: // without expectations, any fact suffices
		setUnknown(current, "The last run found no fact: "+v.Unfinished+".")
	default:
		current.Result, current.Message = v1.CheckPassed, ""
		current.LastConclusiveTime = ended.FinishedAt.DeepCopy()
	}
	if lacksProxy && v.Problem != "" {
		current.Message = message.Truncate(current.Message+" The check does not use the operator's proxy, because users of the namespace could "+
			"read the password in the proxy's URL.", message.MaxCheck)
	}
}

func setUnknown(check *v1.EchoCheckStatus, why string) {
	check.Result, check.Message = v1.CheckUnknown, message.Truncate(why, message.MaxCheck)
}

// pathsHealthy returns the condition for an Echo's checks.
func pathsHealthy(echo *v1.Echo, checks []v1.EchoCheckStatus, now time.Time) metav1.Condition {
	c := metav1.Condition{
		Type: v1.ConditionPathsHealthy, Status: metav1.ConditionTrue, Reason: v1.ReasonChecksPassed.String(), Message: "All checks have passed.",
		ObservedGeneration: echo.Generation, LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
	}
	messages := map[v1.CheckResult][]string{}
	for _, check := range checks {
		messages[check.Result] = append(messages[check.Result], check.Name+": "+check.Message)
	}
	result := v1.CheckPassed
	switch {
	case messages[v1.CheckFailed] != nil:
		result, c.Status, c.Reason = v1.CheckFailed, metav1.ConditionFalse, v1.ReasonCheckFailed.String()
	case messages[v1.CheckUnknown] != nil:
		result, c.Status, c.Reason = v1.CheckUnknown, metav1.ConditionUnknown, v1.ReasonCheckUnknown.String()
	}
	if result != v1.CheckPassed {
		c.Message = message.Truncate(strings.Join(messages[result], " "), message.MaxCondition)
	}
	return c
}

// checkTransitions returns the transitions from the current status of an Echo's checks to the next one.
func checkTransitions(echo *v1.Echo, after []v1.EchoCheckStatus) []Transition {
	var news []Transition
	for _, now := range after {
		job := objects.CronJob(echo, now.Name)
		add := func(reason v1.Reason, format string, args ...any) {
			news = append(news, Transition{Reason: reason, Action: "Check", Note: fmt.Sprintf(format, args...),
				Related: &corev1.ObjectReference{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: job.Kind, Namespace: job.Key.Namespace,
					Name: job.Key.Name}})
		}
		isExpected := slices.Contains([]string{notRunYet, withoutURL, scaledDown}, now.Message)
		was := findCheck(echo.Status.Checks, now.Name)
		switch same := was.Result == now.Result; {
		case now.Result == v1.CheckPassed && !same:
			add(v1.EventCheckPassed, "Check %s passed.", now.Name)
		case now.Result == v1.CheckFailed && (!same || was.Message != now.Message):
			add(v1.ReasonCheckFailed, "Check %s: %s", now.Name, now.Message)
		case now.Result == v1.CheckUnknown && !isExpected && (!same || was.Message != now.Message):
			add(v1.ReasonCheckUnknown, "Check %s: %s", now.Name, now.Message)
		}
	}
	return news
}

// findCheck returns the status of a check, or, if there is none, a status that contains only the name.
func findCheck(checks []v1.EchoCheckStatus, name string) v1.EchoCheckStatus {
	i := slices.IndexFunc(checks, func(check v1.EchoCheckStatus) bool { return check.Name == name })
	if i < 0 {
		return v1.EchoCheckStatus{Name: name}
	}
	return checks[i]
}

// AllChecksNamed reports whether an Echo's status names all of the Echo's checks.
func AllChecksNamed(echo *v1.Echo) bool {
	return !slices.ContainsFunc(echo.Spec.Checks, func(check v1.EchoCheck) bool {
		return !slices.ContainsFunc(echo.Status.Checks, func(named v1.EchoCheckStatus) bool { return named.Name == check.Name })
	})
}

// FormerChecks returns the names of checks that an Echo no longer has, but whose CronJobs might still exist: the checks that the status
// names, until their CronJobs are gone, and those whose CronJobs were found.
func FormerChecks(echo *v1.Echo, found ...string) []string {
	for _, named := range echo.Status.Checks {
		found = append(found, named.Name)
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		return name == "" || slices.ContainsFunc(echo.Spec.Checks, func(check v1.EchoCheck) bool { return check.Name == name })
	})
	slices.Sort(found)
	return slices.Compact(found)
}
