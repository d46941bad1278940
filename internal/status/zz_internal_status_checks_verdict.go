package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/echo-operator/echo-operator/api/v1"
	"github.com/echo-operator/echo-operator/internal/objects"
	"github.com/echo-operator/echo-operator/internal/status/message"
	"github.com/echo-operator/echo-operator/pathcheck/verdict"
)

// judgeRun writes the findings of a run to the status of the check.
func judgeRun(current *v1.EchoCheckStatus, check *v1.EchoCheck, ended *corev1.ContainerStateTerminated) {
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
	current.LastRunTime = ended.FinishedAt.DeepCopy()
	failed := failuresOf(v)
	silence := silenceOf(v)
	switch {
	case silence != "":
		setUnknown(current, silence)
	case len(failed) > 0:
		current.Result, current.Message = v1.CheckFailed, message.Truncate(strings.Join(failed, " "), message.MaxCheck)
	case v.Unfinished == verdict.DeadlinePassed:
		setUnknown(current,
			fmt.Sprintf("The last run did not examine everything within its deadline of %d seconds. Raise deadlineSeconds, or examine fewer groups.",
				objects.CheckDeadline(check)/time.Second))
	case v.Unfinished != "":
		setUnknown(current, "The last run could not examine everything. Check the log of its pod.")
	default:
		current.Result, current.Message = v1.CheckPassed, ""
	}
}

// silenceOf returns the reason why a run that got no response at all reveals nothing about the path. The reason is empty if anything
// responded, because the path itself may then be down.
func silenceOf(v verdict.Verdict) string {
	switch v.Silent {
	case verdict.SilentResolver:
		return "The DNS resolver of the cluster does not respond. Allow egress to its port 53 in the NetworkPolicies of the namespace."
	case verdict.SilentAll:
		return fmt.Sprintf("Requests do not seem to leave the pod: neither %s nor the Service responds. "+
			"Allow egress to both in the NetworkPolicies of the namespace.", v.Address)
	}
	return ""
}

// failuresOf returns the failures that a run found.
func failuresOf(v verdict.Verdict) []string {
	if v.Problem != "" {
		problem := message.Problem{Text: "no Echo responds", Quote: v.Problem}
		if v.Silent == verdict.SilentURL {
			problem.Advice = fmt.Sprintf("Either the path is down, or a NetworkPolicy drops egress to %s.", v.Address)
		}
		return []string{problem.String()}
	}
	var failed []string
	for _, each := range v.Failed {
		failed = append(failed, fmt.Sprintf("%s is %s, expected %s.", each.Name, cmp.Or(each.Got, "not known"), each.Want))
	}
	return failed
}
